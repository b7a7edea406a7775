package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.api.Tyrion;

/**
 * A wait of the current thread, as long as it is told or a little longer, for a lock that another
 * thread holds: that is in a group of its own, "holding".
 */
final class Delay {
    private final Thread waiter = Thread.currentThread();
    private final long millis;
    private final CountDownLatch held = new CountDownLatch(1);
    /** Whether the waiter has nothing before it but the lock. */
    private volatile boolean asks;

    private Delay(long millis) {
        this.millis = millis;
    }

    /** Waits for a monitor, in nanoseconds how long. */
    static long atMonitor(Object monitor, long millis) {
        Delay delay = new Delay(millis);
        Thread holder = Threads.start("holder", () -> delay.holdMonitor(monitor));
        Threads.await(delay.held);
        long begin = System.nanoTime();
        delay.asks = true;
        long waited;
        synchronized (monitor) { // WAIT
            waited = System.nanoTime() - begin;
        }
        Threads.join(holder);
        return waited;
    }

    /** Waits for a lock, in nanoseconds how long. */
    static long atLock(ReentrantLock lock, long millis) {
        Delay delay = new Delay(millis);
        Thread holder = Threads.start("holder", () -> delay.holdLock(lock));
        Threads.await(delay.held);
        long begin = System.nanoTime();
        delay.asks = true;
        lock.lock();
        long waited = System.nanoTime() - begin;
        lock.unlock();
        Threads.join(holder);
        return waited;
    }

    @SuppressWarnings("try")
    private void holdMonitor(Object monitor) {
        try (Tyrion.Group group = Tyrion.group("holding")) {
            synchronized (monitor) {
                keepWaiting();
            }
        }
    }

    @SuppressWarnings("try")
    private void holdLock(Lock lock) {
        try (Tyrion.Group group = Tyrion.group("holding")) {
            lock.lock();
            try {
                keepWaiting();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Returns some time after the waiter was seen to wait. */
    private void keepWaiting() {
        held.countDown();
        while (!asks) {
            Threads.sleepMillis(1);
        }
        Threads.awaitWaiting(waiter);
        Threads.sleepMillis(millis);
    }
}
