package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * A mutual exclusion of a kind chosen by its name, for the scenarios that do the same with several
 * kinds. Every kind has a lock, a method and a line of its own on which threads wait.
 */
abstract class Guard implements Holder.Taking, Waiter.Asking {
    private static final Runnable NOTHING = () -> {};

    static Guard of(String kind) {
        switch (kind) {
            case "monitor":
                return new MonitorGuard();
            case "lock":
                return new LockGuard(new ReentrantLock());
            case "fair":
                return new LockGuard(new ReentrantLock(true));
            case "write":
                return new WriteGuard();
            case "stamped":
                return new StampedGuard();
            case "semaphore":
                return new SemaphoreGuard();
            case "custom":
                return new MutexGuard();
            default:
                throw new IllegalArgumentException(
                        "no such kind of lock: " + kind
                                + " (of monitor lock fair write stamped semaphore custom)");
        }
    }

    /** Takes the lock, runs something while it is held, and returns the wait in nanoseconds. */
    abstract long pass(Runnable whileHeld);

    @Override
    public final void holderTakes(Runnable whileHeld) {
        pass(whileHeld);
    }

    @Override
    public final long waiterTakes() {
        return pass(NOTHING);
    }

    /** A monitor, of a synchronized block. */
    private static final class MonitorGuard extends Guard {
        /** The class of the lock, for a report to name. */
        private static final class Turnstile {}

        private final Turnstile turnstile = new Turnstile();

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            long granted;
            synchronized (turnstile) { // WAIT
                granted = System.nanoTime();
                whileHeld.run();
            }
            return granted - asked;
        }
    }

    /** A {@link ReentrantLock}, fair or not. */
    private static final class LockGuard extends Guard {
        private final ReentrantLock lock;

        LockGuard(ReentrantLock lock) {
            this.lock = lock;
        }

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            lock.lock(); // WAIT
            long granted = System.nanoTime();
            try {
                whileHeld.run();
            } finally {
                lock.unlock();
            }
            return granted - asked;
        }
    }

    /** The write lock of a {@link ReentrantReadWriteLock}. */
    private static final class WriteGuard extends Guard {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            lock.writeLock().lock(); // WAIT
            long granted = System.nanoTime();
            try {
                whileHeld.run();
            } finally {
                lock.writeLock().unlock();
            }
            return granted - asked;
        }
    }

    /** A {@link StampedLock}, for writing. */
    private static final class StampedGuard extends Guard {
        private final StampedLock lock = new StampedLock();

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            long stamp = lock.writeLock(); // WAIT
            long granted = System.nanoTime();
            try {
                whileHeld.run();
            } finally {
                lock.unlockWrite(stamp);
            }
            return granted - asked;
        }
    }

    /** A {@link Semaphore} with one permit. */
    private static final class SemaphoreGuard extends Guard {
        private final Semaphore permits = new Semaphore(1);

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            permits.acquireUninterruptibly(); // WAIT
            long granted = System.nanoTime();
            try {
                whileHeld.run();
            } finally {
                permits.release();
            }
            return granted - asked;
        }
    }

    /** A lock that the JDK does not know. */
    private static final class MutexGuard extends Guard {
        private final Mutex mutex = new Mutex();

        @Override
        long pass(Runnable whileHeld) {
            long asked = System.nanoTime();
            mutex.lock(); // WAIT
            long granted = System.nanoTime();
            try {
                whileHeld.run();
            } finally {
                mutex.unlock();
            }
            return granted - asked;
        }
    }
}
