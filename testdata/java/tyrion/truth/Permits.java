package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code permits [N]}: the main thread acquires permits that another thread gives back, N times of
 * one semaphore and N times of a new one. Then it takes a ReentrantLock twice, one within the
 * other, N times.
 */
final class Permits implements Scenario {
    private final ReentrantLock lock = new ReentrantLock();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int times = arguments.number(0, 1000);
        Semaphore same = new Semaphore(times);
        for (int i = 0; i < times; i++) {
            same.acquire();
        }
        Semaphore[] others = new Semaphore[times];
        for (int i = 0; i < times; i++) {
            others[i] = new Semaphore(1);
            others[i].acquire();
        }
        Thread giver = Threads.start("giver", () -> giveBack(same, others));
        giver.join();
        for (int i = 0; i < times; i++) {
            lock.lock();
            lock.lock();
            lock.unlock();
            lock.unlock();
        }
        report.put("class", Permits.class.getName())
                .put("acquisitions", 3L * times)
                .put("reentrant", times)
                .put("failed", 0);
    }

    private static void giveBack(Semaphore same, Semaphore[] others) {
        for (Semaphore other : others) {
            same.release();
            other.release();
        }
    }
}
