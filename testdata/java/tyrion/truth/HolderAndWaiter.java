package tyrion.truth;

import tyrion.support.Json;

/**
 * The truth of every {@code holder-…} scenario: thread "holder" keeps a lock for 200 ms, thread
 * "waiter" comes 50 ms later, so there is exactly one contention, of 150 ms. A subclass says which
 * lock, and marks the line on which the waiter waits.
 */
abstract class HolderAndWaiter implements Scenario, Holder.Taking, Waiter.Asking {
    private static final long HOLD_MILLIS = 200;
    private static final long HEAD_START_MILLIS = 50;

    @Override
    public final void run(Arguments arguments, Json report) throws Exception {
        Holder holder = new Holder(HOLD_MILLIS, this);
        Waiter waiter = new Waiter(this);
        Encounter.stage(
                holder,
                Threads.named("holder"),
                HEAD_START_MILLIS,
                waiter,
                Threads.named("waiter"));
        report.put("contentions", 1)
                .put("wait_ns", waiter.waitNanos())
                .put("hold_ns", holder.heldNanos())
                .put("blocked_count", waiter.blockedCount());
    }
}
