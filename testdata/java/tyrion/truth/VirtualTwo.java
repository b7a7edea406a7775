package tyrion.truth;

import tyrion.support.Json;

/**
 * {@code virtual-two KIND}: virtual thread "vholder" keeps a lock until 150 ms after
 * virtual thread "vwaiter" was seen to wait for it: exactly one contention, between {@code least_ns}
 * and {@code wait_ns}. KIND as in {@link Guard}.
 */
final class VirtualTwo implements Scenario {
    private static final long WAIT_MILLIS = 150;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        String kind = arguments.text(0, "monitor");
        Guard guard = Guard.of(kind);
        Holder holder = new Holder(guard);
        Waiter waiter = new Waiter(guard);
        long leastNanos = Encounter.stage(
                holder,
                VirtualThreads.named("vholder"),
                WAIT_MILLIS,
                waiter,
                VirtualThreads.named("vwaiter"));
        report.put("kind", kind)
                .put("contentions", 1)
                .put("least_ns", leastNanos)
                .put("wait_ns", waiter.waitNanos())
                .put("hold_ns", holder.heldNanos());
    }
}
