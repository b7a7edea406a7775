package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code wait-chain [ROUNDS]}: in each round "third" has a lock that "second" waits for, and
 * "second" another one that "first" waits for. "third" leaves its lock some time after both were
 * seen to wait; it sleeps until then.
 *
 * <p>{@code first_ns} and {@code second_ns} are how long these waited, by their own clocks. {@code
 * least_second_ns} is for how long "second" did at the least, from when it was seen to until "third"
 * was about to leave; {@code least_chained_ns} the same of both at the same time, and {@code
 * chained_ns} how long that can have been at the most.
 */
final class WaitChain implements Scenario {
    private static final long KEPT_MILLIS = 20;

    // Not private: for Java 8, inner classes call methods for what is.
    final ReentrantLock outer = new ReentrantLock();
    final ReentrantLock inner = new ReentrantLock();

    @Override
    public void run(Arguments arguments, Json report) {
        int rounds = arguments.number(0, 5);
        Round sum = new Round();
        for (int i = 0; i < rounds; i++) {
            Round round = new Round();
            round.take();
            sum.add(round);
        }
        report.put("rounds", rounds)
                .put("first_ns", sum.firstNanos)
                .put("second_ns", sum.secondNanos)
                .put("chained_ns", sum.chainedNanos)
                .put("least_second_ns", sum.leastSecondNanos)
                .put("least_chained_ns", sum.leastChainedNanos);
    }

    private final class Round {
        private final CountDownLatch hasInner = new CountDownLatch(1);
        private final CountDownLatch hasOuter = new CountDownLatch(1);
        private final CountDownLatch wantsOuter = new CountDownLatch(1);
        private volatile boolean mayLeave;

        private long firstNanos;
        private long secondNanos;
        private long chainedNanos;
        private long leastSecondNanos;
        private long leastChainedNanos;

        void take() {
            final Thread third = Threads.start("third", this::keepInner);
            final Thread second = Threads.start("second", this::wantInner);
            final Thread first = Threads.start("first", this::wantOuter);
            // From then on, neither waits for anything else.
            Threads.await(hasOuter);
            Threads.await(wantsOuter);
            long secondWaits = Threads.awaitBlocked(second);
            long bothWait = Math.max(secondWaits, Threads.awaitBlocked(first));
            Threads.sleepMillis(KEPT_MILLIS);
            long leaving = System.nanoTime();
            mayLeave = true;
            Threads.join(third);
            Threads.join(second);
            Threads.join(first);
            leastSecondNanos = leaving - secondWaits;
            leastChainedNanos = leaving - bothWait;
            chainedNanos = Math.min(firstNanos, secondNanos);
        }

        private void keepInner() {
            inner.lock();
            try {
                hasInner.countDown();
                while (!mayLeave) {
                    Threads.sleepMillis(1);
                }
            } finally {
                inner.unlock();
            }
        }

        private void wantInner() {
            Threads.await(hasInner);
            outer.lock();
            try {
                hasOuter.countDown();
                long begin = System.nanoTime();
                inner.lock(); // WAIT
                secondNanos = System.nanoTime() - begin;
                inner.unlock();
            } finally {
                outer.unlock();
            }
        }

        private void wantOuter() {
            Threads.await(hasOuter);
            wantsOuter.countDown();
            long begin = System.nanoTime();
            outer.lock(); // WAIT
            firstNanos = System.nanoTime() - begin;
            outer.unlock();
        }

        void add(Round other) {
            firstNanos += other.firstNanos;
            secondNanos += other.secondNanos;
            chainedNanos += other.chainedNanos;
            leastSecondNanos += other.leastSecondNanos;
            leastChainedNanos += other.leastChainedNanos;
        }
    }
}
