package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;

/**
 * {@code blame [KIND [WAITERS [MILLIS...]]]}: threads "guilty" and, with a second number of
 * milliseconds, "accomplice" hold a lock so long, in turns, twenty times each; WAITERS threads want
 * it again and again, for nothing. Nearly all waiting is the fault of the stacks with {@code
 * guiltyHolder} or {@code accompliceHolder} in them, in proportion to their milliseconds. KIND:
 * {@code block method static lock write stamped semaphore}.
 */
final class Blame implements Scenario {
    private static final int TIMES = 20;

    private volatile boolean stopping;
    /** Whose turn it is to hold the lock. */
    private volatile int turn;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String kind = arguments.text(0, "block");
        int waiterCount = arguments.number(1, 3);
        int guiltyMillis = arguments.number(2, 40);
        int accompliceMillis = arguments.number(3, 0);

        Blamed blamed = Blamed.of(kind);
        List<Waiting> waitings = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= waiterCount; i++) {
            Waiting waiting = new Waiting(blamed);
            waitings.add(waiting);
            threads.add(Threads.start("innocent-" + i, waiting));
        }
        List<Thread> holders = new ArrayList<>();
        int holderCount = accompliceMillis == 0 ? 1 : 2;
        holders.add(Threads.start(
                "guilty", () -> inTurns(0, holderCount, () -> blamed.guiltyHolder(guiltyMillis))));
        if (holderCount > 1) {
            holders.add(Threads.start(
                    "accomplice",
                    () -> inTurns(1, 2, () -> blamed.accompliceHolder(accompliceMillis))));
        }
        Threads.join(holders);
        stopping = true;
        Threads.join(threads);

        long waitNanos = 0;
        long waits = 0;
        for (Waiting waiting : waitings) {
            waitNanos += waiting.waitNanos;
            waits += waiting.waits;
        }
        report.put("kind", kind)
                .put("class", blamed.getClass().getName())
                .put("waiters", waiterCount)
                .put("guilty_ms", guiltyMillis)
                .put("accomplice_ms", accompliceMillis)
                .put("contentions", waits)
                .put("wait_ns", waitNanos);
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

    /** A thread that wants the lock again and again. */
    private final class Waiting implements Runnable {
        /** What takes longer was waiting. */
        private static final long WAITED_NANOS = 1_000_000;

        private final Blamed blamed;
        private long waitNanos;
        private long waits;

        Waiting(Blamed blamed) {
            this.blamed = blamed;
        }

        @Override
        public void run() {
            while (!stopping) {
                long asked = System.nanoTime();
                long granted = blamed.innocentWaiter();
                if (granted - asked > WAITED_NANOS) {
                    waitNanos += granted - asked;
                    waits++;
                }
                Threads.sleepMillis(1);
            }
        }
    }
}
