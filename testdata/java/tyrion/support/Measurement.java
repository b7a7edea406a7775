package tyrion.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;

/**
 * The time in which a program is measured, after its warm-up: how much it did, and how long that
 * took. Prints "warming up" and "measuring" when these begin, so that whoever watches from outside
 * looks at the same time.
 *
 * <p>With {@code -Dmeasurement.asked=true} it lasts until the end of stdin, and whoever writes
 * there asks for parts of it: at each line {@code mark} a line of JSON tells what was done since
 * the last one, and {@code pace N} sets the rate of operations ({@link Pace}).
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
        if (Boolean.getBoolean("measurement.asked")) {
            answer(before, total);
        } else {
            Thread.sleep((long) (seconds * 1000));
        }
        return new Measurement(before, new Reading(total));
    }

    private static void answer(Reading first, LongSupplier total) {
        BufferedReader asked = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Reading last = first;
        try {
            for (String line; (line = asked.readLine()) != null; ) {
                if (line.startsWith("pace ")) {
                    Pace.set(Double.parseDouble(line.substring(5)));
                } else {
                    Reading now = new Reading(total);
                    System.out.println(new Measurement(last, now).part());
                    Pace.reset();
                    last = now;
                }
            }
        } catch (IOException gone) {
            // Nobody asks any more.
        }
    }

    private Json part() {
        long[] latencies = Pace.quantiles(0.5, 0.99, 0.999);
        return new Json()
                .put("count", count)
                .put("cpu_ns", cpuNanos)
                .put("wall_ns", wallNanos)
                .put("p50_ns", latencies[0])
                .put("p99_ns", latencies[1])
                .put("p999_ns", latencies[2]);
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
