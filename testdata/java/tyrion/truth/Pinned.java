package tyrion.truth;

import java.util.concurrent.locks.LockSupport;
import tyrion.support.Json;

/**
 * {@code pinned}: virtual thread "vpinned" is parked for at least {@code least_ns} in the
 * initializer of a class, which it cannot leave its carrier in, on any JDK.
 */
final class Pinned implements Scenario {
    private static final long PARK_NANOS = 100_000_000;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        long[] waited = new long[1];
        Thread thread = VirtualThreads.named("vpinned").newThread(() -> waited[0] = Slow.parkedNanos());
        thread.start();
        thread.join();
        report.put("least_ns", PARK_NANOS).put("wait_ns", waited[0]);
    }

    /** Takes its time to be initialized. */
    private static final class Slow {
        private static final long PARKED_NANOS;

        static {
            long begin = System.nanoTime();
            // It may return for no reason.
            for (long left = PARK_NANOS; left > 0; left = PARK_NANOS - (System.nanoTime() - begin)) {
                LockSupport.parkNanos(left);
            }
            PARKED_NANOS = System.nanoTime() - begin;
        }

        static long parkedNanos() {
            return PARKED_NANOS;
        }
    }
}
