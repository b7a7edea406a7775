package tyrion.truth;

import tyrion.support.Json;

/**
 * {@code virtual-two KIND}: virtual thread "vholder" keeps a lock for 200 ms, virtual thread
 * "vwaiter" comes 50 ms later: exactly one contention, of 150 ms. KIND as in {@link Guard}.
 */
final class VirtualTwo implements Scenario {
    private static final long HOLD_MILLIS = 200;
    private static final long HEAD_START_MILLIS = 50;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        String kind = arguments.text(0, "monitor");
        Guard guard = Guard.of(kind);
        Holder holder = new Holder(HOLD_MILLIS, guard);
        Waiter waiter = new Waiter(guard);
        Encounter.stage(
                holder,
                VirtualThreads.named("vholder"),
                HEAD_START_MILLIS,
                waiter,
                VirtualThreads.named("vwaiter"));
        report.put("kind", kind)
                .put("contentions", 1)
                .put("wait_ns", waiter.waitNanos())
                .put("hold_ns", holder.heldNanos());
    }
}
