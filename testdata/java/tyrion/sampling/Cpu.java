package tyrion.sampling;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Work that takes a known time of a CPU, however busy the machine is. */
final class Cpu {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** What was computed; nobody reads it, but the compiler does not know. */
    private static volatile long computed;

    private Cpu() {}

    /** CPU time of this thread so far. */
    static long nanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Computes until this thread has had so much more CPU time. */
    static void burn(long cpuMillis) {
        long end = nanos() + cpuMillis * 1_000_000;
        long value = computed;
        do {
            value = mix(value);
        } while (nanos() < end);
        computed = value;
    }

    /**
     * Goes on for a millisecond or some: the clock is asked rarely, for that is a native call. How
     * often it loops nobody knows beforehand, so the compiled loop can be stopped everywhere.
     */
    private static long mix(long seed) {
        long value = seed;
        do {
            value = value * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
        } while (value >>> 44 != 0);
        return value;
    }
}
