package tyrion.truth;

import java.util.concurrent.locks.LockSupport;

/** Threads with names, waited for without a checked exception. */
final class Threads {
    private Threads() {}

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.start();
        return thread;
    }

    static void join(Thread... threads) {
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Sleeps for the whole time: {@link Thread#sleep} never wakes early. */
    static void sleepMillis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Parks without a blocker, and parks again when woken early. */
    static void parkMillis(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000;
        for (long left = deadline - System.nanoTime(); left > 0; left = deadline - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
