package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import tyrion.support.Json;

/**
 * {@code lonely [TIMES]}: four threads, "owner-1" to "owner-4", take locks of several classes,
 * TIMES times each, and hold them for 5 µs. {@code Own} has ten instances for each thread, {@code
 * OwnLock} five with a {@link ReentrantLock}: nobody else takes them. Of {@code Common} there are
 * three, which all threads take, in turn; of {@code Few} there are four, taken at one place: two of
 * the threads have one each for themselves, and the others share two.
 *
 * <p>In {@code classes}: instances, those that one thread only took, how often all and these were
 * taken, and how long these were held: at least, measured inside, and at most, measured outside.
 */
final class Lonely implements Scenario {
    private static final int THREADS = 4;
    private static final int OWN = 10;
    private static final int OWN_LOCKS = 5;
    private static final int COMMON = 3;
    private static final int FEW = 4;
    private static final long HOLD_NANOS = 5_000;

    private final List<Counted> commons = counted(COMMON, Common::new);
    private final List<Counted> fews = counted(FEW, Few::new);
    /** Nobody waits for a lock: they take turns at what they share. */
    private final CyclicBarrier together = new CyclicBarrier(THREADS);

    @Override
    public void run(Arguments arguments, Json report) {
        int times = arguments.number(0, 20);
        List<Owner> owners = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Owner owner = new Owner(i, times);
            owners.add(owner);
            threads.add(Threads.start("owner-" + (i + 1), owner));
        }
        Threads.join(threads);

        List<Counted> owns = new ArrayList<>();
        List<Counted> ownLocks = new ArrayList<>();
        for (Owner owner : owners) {
            owns.addAll(owner.owns);
            ownLocks.addAll(owner.ownLocks);
        }
        report.put("times", times)
                .put("classes", Arrays.asList(
                        told(owns, OWN * THREADS),
                        told(ownLocks, OWN_LOCKS * THREADS),
                        told(commons, 0),
                        told(fews, 2)));
    }

    /** Of these locks the first so many are one thread's only. */
    private static Json told(List<Counted> locks, int lonely) {
        long taken = 0;
        long lonelyTaken = 0;
        long lonelyLeast = 0;
        long lonelyMost = 0;
        for (int i = 0; i < locks.size(); i++) {
            taken += locks.get(i).taken;
            if (i < lonely) {
                lonelyTaken += locks.get(i).taken;
                lonelyLeast += locks.get(i).leastNanos;
                lonelyMost += locks.get(i).mostNanos;
            }
        }
        return new Json()
                .put("class", locks.get(0).getClass().getName())
                .put("instances", locks.size())
                .put("lonely", lonely)
                .put("acquisitions", taken)
                .put("lonely_acquisitions", lonelyTaken)
                .put("lonely_least_ns", lonelyLeast)
                .put("lonely_most_ns", lonelyMost);
    }

    private static List<Counted> counted(int count, Supplier<Counted> maker) {
        List<Counted> made = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            made.add(maker.get());
        }
        return made;
    }

    /** One of the threads. */
    private final class Owner implements Runnable {
        private final int index;
        private final int times;
        private final List<Counted> owns = counted(OWN, Own::new);
        private final List<Counted> ownLocks = counted(OWN_LOCKS, OwnLock::new);

        Owner(int index, int times) {
            this.index = index;
            this.times = times;
        }

        @Override
        public void run() {
            for (int time = 0; time < times; time++) {
                owns.forEach(Counted::takeTimed);
                ownLocks.forEach(Counted::takeTimed);
                for (int turn = 0; turn < THREADS; turn++) {
                    if (turn == index) {
                        commons.forEach(Counted::takeTimed);
                        takeFew();
                    }
                    awaitOthers();
                }
            }
        }

        private void takeFew() {
            if (index < 2) {
                fews.get(index).takeTimed();
            } else {
                fews.get(2).takeTimed();
                fews.get(3).takeTimed();
            }
        }

        private void awaitOthers() {
            try {
                together.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Something with one lock, and how long it was held. */
    private abstract static class Counted {
        long taken;
        long leastNanos;
        long mostNanos;

        abstract void take();

        final void takeTimed() {
            long begin = System.nanoTime();
            take();
            mostNanos += System.nanoTime() - begin;
        }

        final void hold() {
            long begin = System.nanoTime();
            taken++;
            Holding.keep(HOLD_NANOS);
            leastNanos += System.nanoTime() - begin;
        }
    }

    private static final class Own extends Counted {
        @Override
        synchronized void take() {
            hold();
        }
    }

    private static final class OwnLock extends Counted {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void take() {
            lock.lock();
            try {
                hold();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Common extends Counted {
        @Override
        synchronized void take() {
            hold();
        }
    }

    private static final class Few extends Counted {
        @Override
        synchronized void take() {
            hold();
        }
    }
}
