package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Json;

/**
 * {@code holds [TIMES]}: locks of every kind are held for a known time, TIMES times each, measured
 * right inside; in some of them the lock is given up for a while in between, which is not held
 * time. In {@code sites}: the class that takes the lock, and what it measured.
 */
final class Holds implements Scenario {
    private static final long HOLD_NANOS = 500_000;
    /**
     * Where the lock is given up in between: what a thread needs after it owns the lock again and
     * before it reads the clock is held time, too, up to 80 µs on a machine that went idle.
     */
    private static final long AROUND_IDLE_NANOS = 2_000_000;
    private static final int IDLE_MILLIS = 3;

    @Override
    public void run(Arguments arguments, Json report) {
        int times = arguments.number(0, 200);
        List<Site> sites = Arrays.asList(
                new Block(), new Method(), new Static(), new Reentrant(), new Thrown(), new Waits(),
                new Lock(), new Awaits(), new Read(), new Write(), new Stamped(), new Permit());
        List<Json> measured = new ArrayList<>();
        for (Site site : sites) {
            String name = "holds-" + site.getClass().getSimpleName().toLowerCase();
            Threads.join(Threads.start(name, () -> {
                for (int i = 0; i < times; i++) {
                    site.once();
                }
            }));
            measured.add(site.holding.report(site));
        }
        report.put("times", times).put("sites", measured);
    }

    /** Where a lock is taken and held. */
    private abstract static class Site {
        final Holding holding = new Holding(getClass().getSimpleName(), 20 * HOLD_NANOS);

        abstract void once();

        final void hold() {
            holding.begin();
            Holding.keep(HOLD_NANOS);
            holding.end();
        }
    }

    private static final class Block extends Site {
        private final Object lock = new Object();

        @Override
        void once() {
            synchronized (lock) {
                hold();
            }
        }
    }

    private static final class Method extends Site {
        @Override
        synchronized void once() {
            hold();
        }
    }

    private static final class Static extends Site {
        @Override
        void once() {
            holdClass(this);
        }

        private static synchronized void holdClass(Static site) {
            site.hold();
        }
    }

    /** Taken once more in between, which does not end the hold. */
    private static final class Reentrant extends Site {
        @Override
        synchronized void once() {
            holding.begin();
            Holding.keep(HOLD_NANOS / 2);
            again();
            Holding.keep(HOLD_NANOS / 4);
            holding.end();
        }

        private synchronized void again() {
            Holding.keep(HOLD_NANOS / 4);
        }
    }

    /** Left by an exception. */
    private static final class Thrown extends Site {
        /** Made once: to make it takes longer than to measure anything. */
        private final IllegalStateException problem = new IllegalStateException("on purpose");
        private final Object lock = new Object();

        @Override
        void once() {
            try {
                synchronized (lock) {
                    hold();
                    throw problem;
                }
            } catch (IllegalStateException e) {
                // As it was meant to.
            }
        }
    }

    /** Given up in {@link Object#wait}. */
    private static final class Waits extends Site {
        private final Object lock = new Object();

        @Override
        void once() {
            synchronized (lock) {
                holding.begin();
                Holding.keep(AROUND_IDLE_NANOS);
                holding.pause();
                try {
                    lock.wait(IDLE_MILLIS);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                holding.resume();
                Holding.keep(AROUND_IDLE_NANOS);
                holding.end();
            }
        }
    }

    private static final class Lock extends Site {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void once() {
            lock.lock();
            try {
                hold();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Given up in {@link Condition#await}. */
    private static final class Awaits extends Site {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition condition = lock.newCondition();

        @Override
        void once() {
            lock.lock();
            try {
                holding.begin();
                Holding.keep(AROUND_IDLE_NANOS);
                holding.pause();
                condition.await(IDLE_MILLIS, TimeUnit.MILLISECONDS);
                holding.resume();
                Holding.keep(AROUND_IDLE_NANOS);
                holding.end();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Read extends Site {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        void once() {
            lock.readLock().lock();
            try {
                hold();
            } finally {
                lock.readLock().unlock();
            }
        }
    }

    private static final class Write extends Site {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        void once() {
            lock.writeLock().lock();
            try {
                hold();
            } finally {
                lock.writeLock().unlock();
            }
        }
    }

    private static final class Stamped extends Site {
        private final StampedLock lock = new StampedLock();

        @Override
        void once() {
            long stamp = lock.writeLock();
            try {
                hold();
            } finally {
                lock.unlockWrite(stamp);
            }
        }
    }

    private static final class Permit extends Site {
        private final Semaphore permits = new Semaphore(1);

        @Override
        void once() {
            permits.acquireUninterruptibly();
            try {
                hold();
            } finally {
                permits.release();
            }
        }
    }
}
