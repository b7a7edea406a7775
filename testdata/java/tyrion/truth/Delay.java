package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.api.Tyrion;

/**
 * A wait of the current thread, of a known length, for a lock that another thread holds: that is in
 * a group of its own, "holding".
 */
final class Delay {
    private Delay() {}

    /** Waits for a monitor, in nanoseconds how long. */
    static long atMonitor(Object monitor, long millis) {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = Threads.start("holder", () -> holdMonitor(monitor, held, millis));
        await(held);
        long begin = System.nanoTime();
        long waited;
        synchronized (monitor) { // WAIT
            waited = System.nanoTime() - begin;
        }
        Threads.join(holder);
        return waited;
    }

    /** Waits for a lock, in nanoseconds how long. */
    static long atLock(ReentrantLock lock, long millis) {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = Threads.start("holder", () -> holdLock(lock, held, millis));
        await(held);
        long begin = System.nanoTime();
        lock.lock();
        long waited = System.nanoTime() - begin;
        lock.unlock();
        Threads.join(holder);
        return waited;
    }

    @SuppressWarnings("try")
    private static void holdMonitor(Object monitor, CountDownLatch held, long millis) {
        try (Tyrion.Group group = Tyrion.group("holding")) {
            synchronized (monitor) {
                held.countDown();
                Threads.sleepMillis(millis);
            }
        }
    }

    @SuppressWarnings("try")
    private static void holdLock(Lock lock, CountDownLatch held, long millis) {
        try (Tyrion.Group group = Tyrion.group("holding")) {
            lock.lock();
            try {
                held.countDown();
                Threads.sleepMillis(millis);
            } finally {
                lock.unlock();
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
