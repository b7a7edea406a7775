package tyrion.truth;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code room-chain [ROUNDS]}: in each round "third" has a lock that "second" waits for, and "first"
 * waits for room in a queue, which "second" makes once it has had the lock. "third" leaves it some
 * time after both were seen to wait; it sleeps until then.
 *
 * <p>{@code first_ns} and {@code second_ns} are how long these waited, by their own clocks. {@code
 * least_chained_ns} is for how long both did at the least, from when they were seen to until "third"
 * was about to leave, and {@code chained_ns} how long that can have been at the most.
 */
final class RoomChain implements Scenario {
    private static final long KEPT_MILLIS = 20;

    private final ReentrantLock inner = new ReentrantLock();
    private final BlockingQueue<Integer> room = new ArrayBlockingQueue<>(1);

    @Override
    public void run(Arguments arguments, Json report) {
        int rounds = arguments.number(0, 5);
        room.add(0);
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
                .put("least_chained_ns", sum.leastChainedNanos);
    }

    private final class Round {
        private final CountDownLatch hasInner = new CountDownLatch(1);
        private final CountDownLatch wantsInner = new CountDownLatch(1);
        private volatile boolean mayLeave;

        private long firstNanos;
        private long secondNanos;
        private long chainedNanos;
        private long leastChainedNanos;

        void take() {
            final Thread third = Threads.start("third", this::keepInner);
            final Thread second = Threads.start("second", this::makeRoom);
            final Thread first = Threads.start("first", this::wantRoom);
            // From then on, it waits for nothing else.
            Threads.await(wantsInner);
            long bothWait = Math.max(Threads.awaitBlocked(second), Threads.awaitBlocked(first));
            Threads.sleepMillis(KEPT_MILLIS);
            long leaving = System.nanoTime();
            mayLeave = true;
            Threads.join(third);
            Threads.join(second);
            Threads.join(first);
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

        private void makeRoom() {
            Threads.await(hasInner);
            wantsInner.countDown();
            long begin = System.nanoTime();
            inner.lock(); // WAIT
            secondNanos = System.nanoTime() - begin;
            inner.unlock();
            if (room.poll() == null) {
                throw new IllegalStateException("there was room");
            }
        }

        private void wantRoom() {
            long begin = System.nanoTime();
            try {
                room.put(1); // WAIT
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            firstNanos = System.nanoTime() - begin;
        }

        void add(Round other) {
            firstNanos += other.firstNanos;
            secondNanos += other.secondNanos;
            chainedNanos += other.chainedNanos;
            leastChainedNanos += other.leastChainedNanos;
        }
    }
}
