package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code shared [KIND [LOCKS [SHARED [THREADS [TIMES]]]]]}: LOCKS locks, SHARED of which two or more
 * threads take, TIMES times each, and the others one thread only. KIND is {@code block}, {@code
 * method} or {@code lock}. Halfway the collector moves them all. With {@code -Dtruth.apart=N} two
 * threads share a lock, the first and the N-th after it.
 *
 * <p>With the identity hash of each lock that has one to be asked for: {@code shared_hashes} of
 * those that are shared.
 */
final class Shared implements Scenario {
    private final List<Lockable> locks = new ArrayList<>();
    /** For each lock the threads that take it. */
    private final List<Set<Integer>> takers = new ArrayList<>();
    private int times;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String kind = arguments.text(0, "block");
        int lockCount = arguments.number(1, 1000);
        int sharedCount = arguments.number(2, 37);
        int threadCount = arguments.number(3, 6);
        times = arguments.number(4, 20);

        SplittableRandom random = new SplittableRandom(37);
        assign(kind, lockCount, sharedCount, threadCount, random);
        CyclicBarrier half = new CyclicBarrier(threadCount, System::gc);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < threadCount; i++) {
            threads.add(Threads.start("taker-" + i, new Taker(i, half)));
        }
        Threads.join(threads);

        List<Integer> hashes = new ArrayList<>();
        long takenBy = 0;
        for (int i = 0; i < lockCount; i++) {
            takenBy += takers.get(i).size();
            if (takers.get(i).size() > 1) {
                hashes.add(locks.get(i).hash());
            }
        }
        report.put("kind", kind)
                .put("locks", lockCount)
                .put("shared", hashes.size())
                .put("threads", threadCount)
                .put("class", locks.get(0).getClass().getName())
                .put("acquisitions", takenBy * times)
                .put("lock_threads", takenBy)
                .put("shared_hashes", kind.equals("lock") ? Arrays.asList() : hashes);
    }

    private void assign(
            String kind, int lockCount, int sharedCount, int threadCount, SplittableRandom random) {
        for (int i = 0; i < lockCount; i++) {
            locks.add(lockable(kind));
            Set<Integer> own = new HashSet<>();
            own.add(random.nextInt(threadCount));
            takers.add(own);
        }
        int apart = Integer.getInteger("truth.apart", 0);
        for (int shared = 0; shared < sharedCount; ) {
            Set<Integer> own = takers.get(random.nextInt(lockCount));
            if (own.size() > 1) {
                continue;
            }
            if (apart > 0) {
                own.add((own.iterator().next() + apart) % threadCount);
                shared++;
            } else {
                int wanted = 2 + shared++ % (threadCount - 1);
                while (own.size() < wanted) {
                    own.add(random.nextInt(threadCount));
                }
            }
        }
    }

    private static Lockable lockable(String kind) {
        switch (kind) {
            case "block":
                return new Blocks();
            case "method":
                return new Methods();
            case "lock":
                return new Locks();
            default:
                throw new IllegalArgumentException("no such kind of lock: " + kind);
        }
    }

    /** A thread that takes its locks again and again. */
    private final class Taker implements Runnable {
        private final int index;
        private final CyclicBarrier half;

        Taker(int index, CyclicBarrier half) {
            this.index = index;
            this.half = half;
        }

        @Override
        public void run() {
            takeAll(times / 2);
            try {
                half.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            takeAll(times - times / 2);
        }

        private void takeAll(int often) {
            for (int time = 0; time < often; time++) {
                for (int i = 0; i < locks.size(); i++) {
                    if (takers.get(i).contains(index)) {
                        locks.get(i).take();
                    }
                }
            }
        }
    }

    /** Something with one lock. */
    private abstract static class Lockable {
        long taken;

        abstract void take();

        /** The identity hash of what is locked. */
        abstract int hash();
    }

    private static final class Blocks extends Lockable {
        private final Object lock = new Object();

        @Override
        void take() {
            synchronized (lock) {
                taken++;
            }
        }

        @Override
        int hash() {
            return System.identityHashCode(lock);
        }
    }

    private static final class Methods extends Lockable {
        @Override
        synchronized void take() {
            taken++;
        }

        @Override
        int hash() {
            return System.identityHashCode(this);
        }
    }

    private static final class Locks extends Lockable {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void take() {
            lock.lock();
            try {
                taken++;
            } finally {
                lock.unlock();
            }
        }

        /** What is locked is the lock's Sync, which only the lock can get at. */
        @Override
        int hash() {
            return 0;
        }
    }
}
