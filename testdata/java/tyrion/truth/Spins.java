package tyrion.truth;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code spins ROUNDS HOLDMICROS}: in each round one thread takes a lock and the other one wants it
 * at once, for so short that HotSpot may spin for it and report nothing. The program takes the
 * time itself, from in front of the block, and adds up what took 5 us or longer. That is nearly
 * every round: few waits are so near to the limit that it matters which of two clocks takes them.
 */
final class Spins implements Scenario {
    private static final long LONG_NANOS = 5_000;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int rounds = arguments.number(0, 5_000);
        long holdNanos = arguments.number(1, 15) * 1_000L;

        Turns turns = new Turns(rounds, holdNanos);
        Thread holder = Threads.start("holder", turns::hold);
        Thread spinner = Threads.start("spinner", turns::want);
        Threads.join(Arrays.asList(holder, spinner));

        report.put("class", Turns.class.getName())
                .put("long_ns", LONG_NANOS)
                .put("waits", turns.waits)
                .put("wait_ns", turns.waitNanos);
    }

    /** What the two threads do. */
    private static final class Turns {
        private final Object lock = new Object();
        private final int rounds;
        private final long holdNanos;
        /** The round in which the lock is held, and the last one in which it was waited for. */
        private final AtomicInteger held = new AtomicInteger();
        private final AtomicInteger done = new AtomicInteger();
        private long waits;
        private long waitNanos;

        Turns(int rounds, long holdNanos) {
            this.rounds = rounds;
            this.holdNanos = holdNanos;
        }

        void hold() {
            for (int round = 1; round <= rounds; round++) {
                synchronized (lock) {
                    held.set(round);
                    long end = System.nanoTime() + holdNanos;
                    while (System.nanoTime() - end < 0) {
                        Older.onSpinWait();
                    }
                }
                await(done, round);
            }
        }

        void want() {
            for (int round = 1; round <= rounds; round++) {
                await(held, round);
                long wanted = System.nanoTime();
                synchronized (lock) {
                    long got = System.nanoTime();
                    if (got - wanted >= LONG_NANOS) {
                        waits++;
                        waitNanos += got - wanted;
                    }
                }
                done.set(round);
            }
        }

        private static void await(AtomicInteger number, int round) {
            while (number.get() < round) {
                Older.onSpinWait();
            }
        }
    }
}
