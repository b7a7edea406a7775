package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import tyrion.support.Json;

/**
 * {@code virtual N KIND}: N virtual threads, "virtual-1" and so on, each take one lock once (KIND
 * as in {@link Guard}). Now and then one keeps it for 1 ms, 2000 times in all, so that many wait.
 * Until Java 23 a virtual thread that blocks on a monitor blocks its carrier, so that only as many
 * wait as there are carriers; later, and with any other kind, nearly all N wait.
 */
final class Virtual implements Scenario {
    private static final int LONG_HOLDS = 2000;

    /**
     * What waits longer than this was blocked. Shorter is the cost of a free lock, and of chance.
     */
    private static final long BLOCKED_NANOS = 100_000;

    private Guard guard;
    private int longHoldEvery;
    private int turn;
    private final Runnable takeTurn = this::takeTurn;
    private long[] waitsNanos;
    private CountDownLatch done;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        int threadCount = arguments.number(0, 100_000);
        String kind = arguments.text(1, "monitor");
        guard = Guard.of(kind);
        longHoldEvery = Math.max(1, threadCount / LONG_HOLDS);
        waitsNanos = new long[threadCount];
        done = new CountDownLatch(threadCount);

        ThreadFactory threads = VirtualThreads.numbered("virtual-");
        long begin = System.nanoTime();
        for (int i = 0; i < threadCount; i++) {
            threads.newThread(new Passenger(i)).start();
        }
        done.await();
        long wallNanos = System.nanoTime() - begin;

        long all = 0;
        long blocked = 0;
        long blockedCount = 0;
        for (long wait : waitsNanos) {
            all += wait;
            if (wait > BLOCKED_NANOS) {
                blocked += wait;
                blockedCount++;
            }
        }
        report.put("kind", kind)
                .put("threads", threadCount)
                .put("acquisitions", turn)
                .put("contentions", blockedCount)
                .put("wait_ns", blocked)
                .put("all_wait_ns", all)
                .put("blocked_means_over_ns", BLOCKED_NANOS)
                .put("wall_ns", wallNanos);
    }

    /** What each does with the lock. */
    private void takeTurn() {
        if (++turn % longHoldEvery == 0) {
            Threads.sleepMillis(1);
        }
    }

    /** One of the virtual threads. */
    private final class Passenger implements Runnable {
        private final int index;

        Passenger(int index) {
            this.index = index;
        }

        @Override
        public void run() {
            waitsNanos[index] = guard.pass(takeTurn);
            done.countDown();
        }
    }
}
