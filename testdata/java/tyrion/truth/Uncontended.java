package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code uncontended SECONDS KIND}: one thread that locks, increments and unlocks, as fast as it
 * can. What a lock costs when nobody else wants it, hence what a probe around it adds. Kinds:
 * {@code monitor-block monitor-method monitor-static lock readwrite stamped semaphore}.
 *
 * <p>Measured after {@code -Dtruth.warmup=SECONDS}, default 2, at whose beginning it prints "warming
 * up"; {@code total_operations} counts that time too. The number of acquisitions is exact: one for
 * each operation.
 */
final class Uncontended implements Scenario {
    private static final int BURST = 10_000;

    @Override
    public void run(Arguments arguments, Json report) {
        double seconds = Double.parseDouble(arguments.text(0, "2"));
        String kind = arguments.text(1, "monitor-block");
        double warmupSeconds = Double.parseDouble(System.getProperty("truth.warmup", "2"));

        Loop loop = loop(kind);
        Measured measured = new Measured(loop, warmupSeconds, seconds);
        System.out.println("warming up");
        Threads.join(Threads.start("uncontended", measured));

        report.put("kind", kind)
                .put("operations", measured.operations)
                .put("total_operations", measured.totalOperations)
                .put("wall_ns", measured.wallNanos)
                .put("process_cpu_ns", measured.cpuNanos)
                .put("ns_per_operation", (double) measured.wallNanos / measured.operations)
                .put("operations_per_cpu_second", measured.operations * 1e9 / measured.cpuNanos)
                .put("contentions", 0);
    }

    private static Loop loop(String kind) {
        switch (kind) {
            case "monitor-block":
                return new BlockLoop();
            case "monitor-method":
                return new MethodLoop();
            case "monitor-static":
                return new StaticLoop();
            case "lock":
                return new LockLoop();
            case "readwrite":
                return new ReadWriteLoop();
            case "stamped":
                return new StampedLoop();
            case "semaphore":
                return new SemaphoreLoop();
            default:
                throw new IllegalArgumentException("no such kind of loop: " + kind);
        }
    }

    /** Runs bursts for a time, after others that don't count. */
    private static final class Measured implements Runnable {
        private final Loop loop;
        private final double warmupSeconds;
        private final double seconds;
        private long operations;
        private long totalOperations;
        private long wallNanos;
        private long cpuNanos;

        Measured(Loop loop, double warmupSeconds, double seconds) {
            this.loop = loop;
            this.warmupSeconds = warmupSeconds;
            this.seconds = seconds;
        }

        @Override
        public void run() {
            long before = burstsFor(warmupSeconds);
            long cpuBefore = Jvm.processCpuNanos();
            long begin = System.nanoTime();
            operations = burstsFor(seconds);
            wallNanos = System.nanoTime() - begin;
            cpuNanos = Jvm.processCpuNanos() - cpuBefore;
            totalOperations = before + operations;
        }

        private long burstsFor(double time) {
            long end = System.nanoTime() + (long) (time * 1e9);
            long done = 0;
            while (System.nanoTime() < end) {
                loop.burst();
                done += BURST;
            }
            return done;
        }
    }

    /** A number of operations in a row. */
    private abstract static class Loop {
        /**
         * Always true. Read in each round, since a volatile read between an unlock and the next
         * lock keeps the compiler from locking once for several rounds (lock coarsening).
         */
        volatile boolean going = true;

        long counter;

        abstract void burst();
    }

    /** A synchronized block. */
    private static final class BlockLoop extends Loop {
        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                synchronized (this) {
                    counter++;
                }
            }
        }
    }

    /** A synchronized method. */
    private static final class MethodLoop extends Loop {
        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                increment();
            }
        }

        private synchronized void increment() {
            counter++;
        }
    }

    /** A static synchronized method. */
    private static final class StaticLoop extends Loop {
        private static long sharedCounter;

        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                increment();
            }
        }

        private static synchronized void increment() {
            sharedCounter++;
        }
    }

    /** A {@link ReentrantLock}. */
    private static final class LockLoop extends Loop {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                lock.lock();
                try {
                    counter++;
                } finally {
                    lock.unlock();
                }
            }
        }
    }

    /** Reads nine times of ten. */
    private static final class ReadWriteLoop extends Loop {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private long seen;

        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                if (i % 10 == 0) {
                    write();
                } else {
                    read();
                }
            }
        }

        private void write() {
            lock.writeLock().lock();
            try {
                counter++;
            } finally {
                lock.writeLock().unlock();
            }
        }

        private void read() {
            lock.readLock().lock();
            try {
                seen += counter;
            } finally {
                lock.readLock().unlock();
            }
        }
    }

    /** A {@link StampedLock}, for writing. */
    private static final class StampedLoop extends Loop {
        private final StampedLock lock = new StampedLock();

        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                long stamp = lock.writeLock();
                try {
                    counter++;
                } finally {
                    lock.unlockWrite(stamp);
                }
            }
        }
    }

    /** A {@link Semaphore} with one permit. */
    private static final class SemaphoreLoop extends Loop {
        private final Semaphore permits = new Semaphore(1);

        @Override
        void burst() {
            for (int i = 0; i < BURST && going; i++) {
                permits.acquireUninterruptibly();
                try {
                    counter++;
                } finally {
                    permits.release();
                }
            }
        }
    }
}
