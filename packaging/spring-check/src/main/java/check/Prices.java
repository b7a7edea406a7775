package check;

import java.util.concurrent.locks.ReentrantLock;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A service whose requests take turns at one lock. */
@SpringBootApplication
@RestController
public class Prices {
    private final ReentrantLock pricesLock = new ReentrantLock();

    public static void main(String[] arguments) {
        SpringApplication.run(Prices.class, arguments);
    }

    /** Two of them at a time: one waits, however late it comes. */
    @GetMapping("/price")
    public long price() throws InterruptedException {
        Thread other = new Thread(this::holdUntilSomebodyWaits, "importer");
        synchronized (this) {
            other.start();
            while (!pricesLock.isLocked()) {
                Thread.sleep(1);
            }
            pricesLock.lock();
            pricesLock.unlock();
            other.join();
        }
        return 42;
    }

    private void holdUntilSomebodyWaits() {
        pricesLock.lock();
        try {
            while (!pricesLock.hasQueuedThreads()) {
                Thread.sleep(1);
            }
            Thread.sleep(20);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            pricesLock.unlock();
        }
    }
}
