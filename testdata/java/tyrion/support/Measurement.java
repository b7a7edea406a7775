package tyrion.support;

import java.util.function.LongSupplier;

/**
 * The time in which a program is measured, after its warm-up: how much it did, and how long that
 * took. Prints "warming up" and "measuring" when these begin, so that whoever watches from outside
 * looks at the same time.
 */
public final class Measurement {
    public final long count;
    public final long cpuNanos;
    public final long wallNanos;

    private Measurement(Reading before, Reading after) {
        count = after.count - before.count;
        cpuNanos = after.cpuNanos - before.cpuNanos;
        wallNanos = after.wallNanos - before.wallNanos;
    }

    /** Lets the program's threads go on for both times, and measures the second. */
    public static Measurement of(double warmupSeconds, double seconds, LongSupplier total)
            throws InterruptedException {
        System.out.println("warming up");
        Thread.sleep((long) (warmupSeconds * 1000));
        System.out.println("measuring");
        Reading before = new Reading(total);
        Thread.sleep((long) (seconds * 1000));
        return new Measurement(before, new Reading(total));
    }

    public double perSecond() {
        return count * 1e9 / wallNanos;
    }

    /** Per second of CPU time of the whole process. */
    public double perCpuSecond() {
        return count * 1e9 / cpuNanos;
    }

    /** All that is counted, at one moment. */
    private static final class Reading {
        private final long count;
        private final long cpuNanos;
        private final long wallNanos;

        Reading(LongSupplier total) {
            count = total.getAsLong();
            cpuNanos = Jvm.processCpuNanos();
            wallNanos = System.nanoTime();
        }
    }
}
