package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tyrion.support.Json;

/**
 * {@code initialization}: a thread initializes a class, which takes 200 ms, while another one reads
 * a static field of it, and a third one makes an instance.
 */
final class Initialization implements Scenario {
    static final CountDownLatch BEGUN = new CountDownLatch(1);

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Thread first = Threads.start("initializer", () -> Slow.number++);
        BEGUN.await();
        Thread reader = Threads.start("reader", () -> Slow.number++);
        Thread maker = Threads.start("maker", Slow::new);
        first.join();
        reader.join();
        maker.join();
        report.put("number", Slow.number);
    }

    /** Takes long to be there. */
    static final class Slow {
        static volatile int number;

        static {
            BEGUN.countDown();
            try {
                TimeUnit.MILLISECONDS.sleep(200);
            } catch (InterruptedException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }
}
