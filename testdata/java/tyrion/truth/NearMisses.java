package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code near-misses [TIMES]}: thread "early" takes a lock and leaves it, and thread "late" takes
 * it some time after that, for each lock TIMES times. What "late" leaves, "early" takes no sooner
 * than 8 ms later. For each kind of lock, monitor and {@link ReentrantLock}, there are three locks:
 *
 * <ul>
 *   <li>"near": 200 µs after; again and again until that was TIMES times certainly within 1 ms;
 *   <li>"apart": 20 ms after;
 *   <li>"contended": while "early" still has it, so that "late" waits, and gets it right after.
 * </ul>
 *
 * <p>In {@code locks}, for each: how long after an exit the other one came in at the {@code least},
 * measured outside of the lock, and at the {@code most}, measured inside; of "contended", how long
 * it waited.
 */
final class NearMisses implements Scenario {
    private static final long NEAR_NANOS = 200_000;
    private static final long NEAR_AT_MOST_NANOS = 1_000_000;
    private static final int APART_MILLIS = 20;
    private static final int BREAK_MILLIS = 8;
    private static final int HELD_MILLIS = 6;
    /** A thread that comes late now and then comes late to the next try, too, but not for ever. */
    private static final int PATIENCE = 20;

    /** Whether "early" (0) or "late" (1) is to come; -1 before both are ready. */
    private volatile int turn;
    private volatile boolean isOver;
    /** When "early" was about to leave the lock, and when it had left it. */
    private volatile long leaving;

    private volatile long left;
    private volatile Thread late;

    @Override
    public void run(Arguments arguments, Json report) {
        int times = arguments.number(0, 15);
        List<Json> locks = new ArrayList<>();
        locks.add(stage("near", NearMonitor::new, times));
        locks.add(stage("apart", ApartMonitor::new, times));
        locks.add(stage("contended", ContendedMonitor::new, times));
        locks.add(stage("near", NearLock::new, times));
        locks.add(stage("apart", ApartLock::new, times));
        locks.add(stage("contended", ContendedLock::new, times));
        report.put("times", times).put("locks", locks);
    }

    private Json stage(String distance, Supplier<Passage> maker, int times) {
        Passage passage = maker.get();
        turn = -1;
        isOver = false;
        List<Long> least = new ArrayList<>();
        List<Long> most = new ArrayList<>();
        // Loads and links what both threads use: by the main thread, long before, and once by each
        // of them, with a lock of its own.
        for (int i = 0; i < 100; i++) {
            passage.pass(() -> {});
        }
        Threads.sleepMillis(BREAK_MILLIS);
        boolean overlaps = distance.equals("contended");
        Thread early = Threads.start("early", () -> {
            maker.get().pass(() -> {});
            awaitTurn(0);
            while (!isOver) {
                if (overlaps) {
                    passage.pass(() -> {
                        turn = 1;
                        // Until then it spins.
                        Threads.awaitWaiting(late);
                        Threads.sleepMillis(HELD_MILLIS);
                    });
                } else {
                    passage.pass(() -> leaving = System.nanoTime());
                    left = System.nanoTime();
                    turn = 1;
                }
                awaitTurn(0);
            }
        });
        late = new Thread(() -> {
            come(overlaps, maker.get(), distance, new ArrayList<>(), new ArrayList<>());
            turn = 0;
            while (!isOver) {
                // Spins, so as to be on time.
                while (turn != 1) {
                    Older.onSpinWait();
                }
                come(overlaps, passage, distance, least, most);
                Threads.sleepMillis(BREAK_MILLIS);
                isOver = distance.equals("near")
                        ? near(most) == times || most.size() == PATIENCE * times
                        : most.size() == times;
                turn = 0;
            }
        }, "late");
        late.start();
        Threads.join(Arrays.asList(early, late));
        return new Json()
                .put("distance", distance)
                .put("class", passage.getClass().getName())
                .put("least_ns", least)
                .put("most_ns", most);
    }

    private static long near(List<Long> most) {
        return most.stream().filter(nanos -> nanos < NEAR_AT_MOST_NANOS).count();
    }

    private void awaitTurn(int own) {
        while (turn != own) {
            Threads.sleepMillis(1);
        }
    }

    private void come(
            boolean overlaps,
            Passage passage,
            String distance,
            List<Long> least,
            List<Long> most) {
        if (overlaps) {
            waitFor(passage, least, most);
        } else {
            comeAfter(passage, distance, least, most);
        }
    }

    private static void waitFor(Passage passage, List<Long> least, List<Long> most) {
        long asked = System.nanoTime();
        passage.pass(() -> least.add(System.nanoTime() - asked));
        most.add(System.nanoTime() - asked);
    }

    private void comeAfter(Passage passage, String distance, List<Long> least, List<Long> most) {
        if (distance.equals("apart")) {
            Threads.sleepMillis(APART_MILLIS);
        }
        while (System.nanoTime() - left < NEAR_NANOS) {
            Older.onSpinWait();
        }
        least.add(System.nanoTime() - left);
        passage.pass(() -> most.add(System.nanoTime() - leaving));
    }

    /** A lock around something; a class each, so that a report tells them apart. */
    private interface Passage {
        void pass(Runnable inside);
    }

    private static final class NearMonitor implements Passage {
        @Override
        public synchronized void pass(Runnable inside) {
            inside.run();
        }
    }

    private static final class ApartMonitor implements Passage {
        @Override
        public synchronized void pass(Runnable inside) {
            inside.run();
        }
    }

    private static final class ContendedMonitor implements Passage {
        @Override
        public synchronized void pass(Runnable inside) {
            inside.run();
        }
    }

    private static final class NearLock implements Passage {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        public void pass(Runnable inside) {
            lock.lock();
            try {
                inside.run();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class ApartLock implements Passage {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        public void pass(Runnable inside) {
            lock.lock();
            try {
                inside.run();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class ContendedLock implements Passage {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        public void pass(Runnable inside) {
            lock.lock();
            try {
                inside.run();
            } finally {
                lock.unlock();
            }
        }
    }
}
