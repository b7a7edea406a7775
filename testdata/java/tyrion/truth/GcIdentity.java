package tyrion.truth;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import tyrion.support.Json;

/**
 * One monitor that is contended three times, then moved by several garbage collections, then
 * contended three times again: it stays one lock.
 */
final class GcIdentity implements Scenario {
    private static final int ROUNDS = 3;
    private static final int COLLECTIONS = 4;
    private static final long WAIT_MILLIS = 30;

    /** Keeps garbage reachable until it is dropped, so that no compiler leaves it out. */
    private byte[][] garbage;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        churn();
        // Behind the garbage: to close the gap the collector has to move it.
        Guard guard = Guard.of("monitor");
        long before = contend(guard, "before-gc");
        long collectionsBefore = collections();
        for (int i = 0; i < COLLECTIONS; i++) {
            garbage = null;
            System.gc();
            churn();
        }
        long collections = collections() - collectionsBefore;
        long after = contend(guard, "after-gc");
        report.put("locks", 1)
                .put("contentions", 2 * ROUNDS)
                .put("wait_ns", before + after)
                .put("before_wait_ns", before)
                .put("after_wait_ns", after)
                .put("collections", collections);
    }

    private static long contend(Guard guard, String threadName) throws InterruptedException {
        long sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Waiter waiter = new Waiter(guard);
            Encounter.stage(
                    new Holder(guard),
                    Threads.named("holder"),
                    WAIT_MILLIS,
                    waiter,
                    Threads.named(threadName));
            sum += waiter.waitNanos();
        }
        return sum;
    }

    private void churn() {
        garbage = new byte[4000][];
        for (int i = 0; i < garbage.length; i++) {
            garbage[i] = new byte[4096];
        }
    }

    private static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            sum += collector.getCollectionCount();
        }
        return sum;
    }
}
