package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code ring SECONDS KIND THREADS}: threads in a ring pass a baton on, as fast as they can: each
 * waits until the one before it has ended its wait, then ends that of the next one. KIND says how:
 * {@code condition}, {@code notify} or {@code unpark}. The more threads, the longer each wait.
 *
 * <p>Measured after {@code -Dtruth.warmup=SECONDS}, default 1. A pass is one wait that was ended.
 */
final class Ring implements Scenario {
    private volatile boolean stopping;
    /** Written by whoever has the baton, so by one thread at a time. */
    private volatile long passes;

    @Override
    public void run(Arguments arguments, Json report) {
        double seconds = Double.parseDouble(arguments.text(0, "2"));
        String kind = arguments.text(1, "condition");
        int count = arguments.number(2, 2);
        double warmupSeconds = Double.parseDouble(System.getProperty("truth.warmup", "1"));

        List<Baton> batons = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batons.add(baton(kind));
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Baton mine = batons.get(i);
            Baton next = batons.get((i + 1) % count);
            threads.add(Threads.start("ring-" + i, () -> passOn(mine, next)));
        }
        batons.get(0).give();
        Threads.sleepMillis((long) (warmupSeconds * 1000));
        long passesBefore = passes;
        long cpuBefore = Jvm.processCpuNanos();
        Threads.sleepMillis((long) (seconds * 1000));
        long cpuNanos = Jvm.processCpuNanos() - cpuBefore;
        long measured = passes - passesBefore;
        stopping = true;
        Threads.join(threads);
        report.put("kind", kind)
                .put("threads", count)
                .put("passes", measured)
                .put("total_passes", passes)
                .put("process_cpu_ns", cpuNanos);
    }

    private static Baton baton(String kind) {
        switch (kind) {
            case "condition":
                return new ByCondition();
            case "notify":
                return new ByNotify();
            case "unpark":
                return new ByUnpark();
            default:
                throw new IllegalArgumentException("no such kind of baton: " + kind);
        }
    }

    /** Once it is to stop, the baton goes round once more, so that all threads see that. */
    private void passOn(Baton mine, Baton next) {
        boolean last = false;
        while (!last) {
            mine.await();
            last = stopping;
            passes++;
            next.give();
        }
    }

    /** What one thread waits for, and another one gives. */
    private interface Baton {
        void await();

        void give();
    }

    private static final class ByCondition implements Baton {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition given = lock.newCondition();
        private boolean isGiven;

        @Override
        public void await() {
            lock.lock();
            try {
                while (!isGiven) {
                    given.awaitUninterruptibly();
                }
                isGiven = false;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void give() {
            lock.lock();
            try {
                isGiven = true;
                given.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class ByNotify implements Baton {
        private boolean isGiven;

        @Override
        public synchronized void await() {
            try {
                while (!isGiven) {
                    wait();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            isGiven = false;
        }

        @Override
        public synchronized void give() {
            isGiven = true;
            notify();
        }
    }

    private static final class ByUnpark implements Baton {
        private volatile Thread waiter;
        private volatile boolean isGiven;

        @Override
        public void await() {
            waiter = Thread.currentThread();
            while (!isGiven) {
                LockSupport.park(this);
            }
            isGiven = false;
        }

        @Override
        public void give() {
            isGiven = true;
            LockSupport.unpark(waiter);
        }
    }
}
