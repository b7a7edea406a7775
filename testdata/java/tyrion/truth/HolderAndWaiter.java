package tyrion.truth;

import tyrion.support.Json;

/**
 * The truth of every {@code holder-…} scenario: thread "holder" keeps a lock until 150 ms after
 * thread "waiter" was seen to wait for it, so there is exactly one contention, of 150 ms or a little
 * more: between {@code least_ns} and {@code wait_ns}. An argument is another number of ms. A subclass says which lock, and marks the line
 * on which the waiter waits.
 */
abstract class HolderAndWaiter implements Scenario, Holder.Taking, Waiter.Asking {
    private static final long WAIT_MILLIS = 150;

    @Override
    public final void run(Arguments arguments, Json report) throws Exception {
        Holder holder = new Holder(this);
        Waiter waiter = new Waiter(this);
        long leastNanos = Encounter.stage(
                holder,
                Threads.named("holder"),
                arguments.number(0, (int) WAIT_MILLIS),
                waiter,
                Threads.named("waiter"));
        report.put("contentions", 1)
                .put("least_ns", leastNanos)
                .put("wait_ns", waiter.waitNanos())
                .put("hold_ns", holder.heldNanos())
                .put("blocked_count", waiter.blockedCount());
    }
}
