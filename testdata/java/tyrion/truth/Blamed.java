package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * A lock, and three ways to hold it that a stack tells apart: {@code guiltyHolder} and {@code
 * accompliceHolder} for some time, and {@code innocentWaiter} for no time.
 */
abstract class Blamed {
    static Blamed of(String kind) {
        switch (kind) {
            case "block":
                return new Block();
            case "method":
                return new Method();
            case "static":
                return new Static();
            case "lock":
                return new Lock();
            case "write":
                return new Write();
            case "stamped":
                return new Stamped();
            case "semaphore":
                return new Permit();
            default:
                throw new IllegalArgumentException("no such kind of lock: " + kind);
        }
    }

    abstract void guiltyHolder(Runnable whileHeld);

    abstract void accompliceHolder(Runnable whileHeld);

    /** Returns when the lock was granted. */
    abstract long innocentWaiter();

    private static final class Block extends Blamed {
        private final Object lock = new Object();

        @Override
        void guiltyHolder(Runnable whileHeld) {
            synchronized (lock) {
                whileHeld.run();
            }
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            synchronized (lock) {
                whileHeld.run();
            }
        }

        @Override
        long innocentWaiter() {
            synchronized (lock) {
                return System.nanoTime();
            }
        }
    }

    private static final class Method extends Blamed {
        @Override
        synchronized void guiltyHolder(Runnable whileHeld) {
            whileHeld.run();
        }

        @Override
        synchronized void accompliceHolder(Runnable whileHeld) {
            whileHeld.run();
        }

        @Override
        synchronized long innocentWaiter() {
            return System.nanoTime();
        }
    }

    private static final class Static extends Blamed {
        @Override
        void guiltyHolder(Runnable whileHeld) {
            guiltyStatic(whileHeld);
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            accompliceStatic(whileHeld);
        }

        @Override
        long innocentWaiter() {
            return innocentStatic();
        }

        private static synchronized void guiltyStatic(Runnable whileHeld) {
            whileHeld.run();
        }

        private static synchronized void accompliceStatic(Runnable whileHeld) {
            whileHeld.run();
        }

        private static synchronized long innocentStatic() {
            return System.nanoTime();
        }
    }

    private static final class Lock extends Blamed {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void guiltyHolder(Runnable whileHeld) {
            lock.lock();
            try {
                whileHeld.run();
            } finally {
                lock.unlock();
            }
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            lock.lock();
            try {
                whileHeld.run();
            } finally {
                lock.unlock();
            }
        }

        @Override
        long innocentWaiter() {
            lock.lock();
            try {
                return System.nanoTime();
            } finally {
                lock.unlock();
            }
        }
    }

    /** The waiters take turns at writing and reading. */
    private static final class Write extends Blamed {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        void guiltyHolder(Runnable whileHeld) {
            lock.writeLock().lock();
            try {
                whileHeld.run();
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            lock.writeLock().lock();
            try {
                whileHeld.run();
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Override
        long innocentWaiter() {
            return System.nanoTime() % 2 == 0 ? reader() : writer();
        }

        private long reader() {
            lock.readLock().lock();
            try {
                return System.nanoTime();
            } finally {
                lock.readLock().unlock();
            }
        }

        private long writer() {
            lock.writeLock().lock();
            try {
                return System.nanoTime();
            } finally {
                lock.writeLock().unlock();
            }
        }
    }

    private static final class Stamped extends Blamed {
        private final StampedLock lock = new StampedLock();

        @Override
        void guiltyHolder(Runnable whileHeld) {
            long stamp = lock.writeLock();
            try {
                whileHeld.run();
            } finally {
                lock.unlockWrite(stamp);
            }
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            long stamp = lock.writeLock();
            try {
                whileHeld.run();
            } finally {
                lock.unlockWrite(stamp);
            }
        }

        @Override
        long innocentWaiter() {
            long stamp = lock.readLock();
            try {
                return System.nanoTime();
            } finally {
                lock.unlockRead(stamp);
            }
        }
    }

    private static final class Permit extends Blamed {
        private final Semaphore permits = new Semaphore(1);

        @Override
        void guiltyHolder(Runnable whileHeld) {
            permits.acquireUninterruptibly();
            try {
                whileHeld.run();
            } finally {
                permits.release();
            }
        }

        @Override
        void accompliceHolder(Runnable whileHeld) {
            permits.acquireUninterruptibly();
            try {
                whileHeld.run();
            } finally {
                permits.release();
            }
        }

        @Override
        long innocentWaiter() {
            permits.acquireUninterruptibly();
            try {
                return System.nanoTime();
            } finally {
                permits.release();
            }
        }
    }
}
