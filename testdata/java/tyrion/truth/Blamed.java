package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * A lock, and three ways to hold it that a stack tells apart: {@code guiltyHolder} and {@code
 * accompliceHolder} for some time, asleep, and {@code innocentWaiter} for no time.
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

    abstract void guiltyHolder(long millis);

    abstract void accompliceHolder(long millis);

    /** Returns when the lock was granted. */
    abstract long innocentWaiter();

    private static final class Block extends Blamed {
        private final Object lock = new Object();

        @Override
        void guiltyHolder(long millis) {
            synchronized (lock) {
                Threads.sleepMillis(millis);
            }
        }

        @Override
        void accompliceHolder(long millis) {
            synchronized (lock) {
                Threads.sleepMillis(millis);
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
        synchronized void guiltyHolder(long millis) {
            Threads.sleepMillis(millis);
        }

        @Override
        synchronized void accompliceHolder(long millis) {
            Threads.sleepMillis(millis);
        }

        @Override
        synchronized long innocentWaiter() {
            return System.nanoTime();
        }
    }

    private static final class Static extends Blamed {
        @Override
        void guiltyHolder(long millis) {
            guiltyStatic(millis);
        }

        @Override
        void accompliceHolder(long millis) {
            accompliceStatic(millis);
        }

        @Override
        long innocentWaiter() {
            return innocentStatic();
        }

        private static synchronized void guiltyStatic(long millis) {
            Threads.sleepMillis(millis);
        }

        private static synchronized void accompliceStatic(long millis) {
            Threads.sleepMillis(millis);
        }

        private static synchronized long innocentStatic() {
            return System.nanoTime();
        }
    }

    private static final class Lock extends Blamed {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void guiltyHolder(long millis) {
            lock.lock();
            try {
                Threads.sleepMillis(millis);
            } finally {
                lock.unlock();
            }
        }

        @Override
        void accompliceHolder(long millis) {
            lock.lock();
            try {
                Threads.sleepMillis(millis);
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
        void guiltyHolder(long millis) {
            lock.writeLock().lock();
            try {
                Threads.sleepMillis(millis);
            } finally {
                lock.writeLock().unlock();
            }
        }

        @Override
        void accompliceHolder(long millis) {
            lock.writeLock().lock();
            try {
                Threads.sleepMillis(millis);
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
        void guiltyHolder(long millis) {
            long stamp = lock.writeLock();
            try {
                Threads.sleepMillis(millis);
            } finally {
                lock.unlockWrite(stamp);
            }
        }

        @Override
        void accompliceHolder(long millis) {
            long stamp = lock.writeLock();
            try {
                Threads.sleepMillis(millis);
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
        void guiltyHolder(long millis) {
            permits.acquireUninterruptibly();
            try {
                Threads.sleepMillis(millis);
            } finally {
                permits.release();
            }
        }

        @Override
        void accompliceHolder(long millis) {
            permits.acquireUninterruptibly();
            try {
                Threads.sleepMillis(millis);
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
