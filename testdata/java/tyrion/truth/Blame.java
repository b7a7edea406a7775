package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;

/**
 * {@code blame [KIND [WAITERS [MILLIS...]]]}: threads "guilty" and, with a second number of
 * milliseconds, "accomplice" hold a lock so long, in turns, twenty times each; WAITERS threads want
 * it again and again, for nothing. The time of a hold counts from when all of them were seen to
 * wait. Nearly all waiting is the fault of the stacks with {@code guiltyHolder} or {@code
 * accompliceHolder} in them: {@code guilty_ns} and {@code accomplice_ns} at the least, of {@code
 * all_wait_ns} at the most. KIND: {@code block method static lock write stamped semaphore}.
 */
final class Blame implements Scenario {
    private static final int TIMES = 20;

    private volatile boolean stopping;
    private Blamed blamed;
    private final List<Thread> threads = new ArrayList<>();
    /** Whose turn it is to hold the lock. */
    private volatile int turn;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String kind = arguments.text(0, "block");
        int waiterCount = arguments.number(1, 3);
        int guiltyMillis = arguments.number(2, 40);
        int accompliceMillis = arguments.number(3, 0);

        blamed = Blamed.of(kind);
        List<Waiting> waitings = new ArrayList<>();
        for (int i = 1; i <= waiterCount; i++) {
            Waiting waiting = new Waiting();
            waitings.add(waiting);
            threads.add(Threads.start("innocent-" + i, waiting));
        }
        List<Thread> holders = new ArrayList<>();
        int holderCount = accompliceMillis == 0 ? 1 : 2;
        Holding guilty = new Holding(guiltyMillis);
        Holding accomplice = new Holding(accompliceMillis);
        holders.add(Threads.start(
                "guilty", () -> inTurns(0, holderCount, () -> blamed.guiltyHolder(guilty))));
        if (holderCount > 1) {
            holders.add(Threads.start(
                    "accomplice", () -> inTurns(1, 2, () -> blamed.accompliceHolder(accomplice))));
        }
        Threads.join(holders);
        stopping = true;
        Threads.join(threads);

        long waitNanos = 0;
        long allNanos = 0;
        long waits = 0;
        for (Waiting waiting : waitings) {
            allNanos += waiting.allNanos;
            waitNanos += waiting.waitNanos;
            waits += waiting.waits;
        }
        report.put("kind", kind)
                .put("class", blamed.getClass().getName())
                .put("waiters", waiterCount)
                .put("guilty_ns", guilty.leastNanos)
                .put("accomplice_ns", accomplice.leastNanos)
                .put("contentions", waits)
                .put("wait_ns", waitNanos)
                .put("all_wait_ns", allNanos);
    }

    private void inTurns(int own, int holderCount, Runnable holding) {
        for (int i = 0; i < TIMES; i++) {
            while (turn != own) {
                Threads.sleepMillis(1);
            }
            holding.run();
            // Lets the waiters through.
            Threads.sleepMillis(4);
            turn = (own + 1) % holderCount;
        }
    }

    /** What is done while the lock is held, in {@link Threads#sleepMillis}. */
    private final class Holding implements Runnable {
        private final long millis;
        private long leastNanos;

        Holding(long millis) {
            this.millis = millis;
        }

        @Override
        public void run() {
            long since = 0;
            for (Thread thread : threads) {
                since += Threads.awaitBlocked(thread);
            }
            Threads.sleepMillis(millis);
            leastNanos += System.nanoTime() * threads.size() - since;
        }
    }

    /** A thread that wants the lock again and again. */
    private final class Waiting implements Runnable {
        /** What takes longer was waiting. */
        private static final long WAITED_NANOS = 1_000_000;

        private long waitNanos;
        private long waits;
        /** With what was too short to be counted above, but may have been a wait all the same. */
        private long allNanos;

        @Override
        public void run() {
            while (!stopping) {
                long asked = System.nanoTime();
                long granted = blamed.innocentWaiter();
                allNanos += granted - asked;
                if (granted - asked > WAITED_NANOS) {
                    waitNanos += granted - asked;
                    waits++;
                }
                Threads.sleepMillis(1);
            }
        }
    }
}
