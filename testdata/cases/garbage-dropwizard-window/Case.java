import com.codahale.metrics.Clock;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Reservoir;
import com.codahale.metrics.SlidingTimeWindowArrayReservoir;
import com.codahale.metrics.SlidingTimeWindowReservoir;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** An access log is played again; of its latencies those of the last seconds are kept, each in a map's entry. */
public class Case {
    static final AtomicLong lines = new AtomicLong();

    /** The log's time: so and so many requests came each second. */
    static class LogTime extends Clock {
        final int requestsPerSecond = Integer.getInteger("case.rate", 205_000);

        @Override
        public long getTick() {
            return lines.get() * 1_000_000_000L / requestsPerSecond;
        }
    }

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        Clock clock = new LogTime();
        Reservoir window = args.length > 1 && args[1].equals("array")
            ? new SlidingTimeWindowArrayReservoir(3, TimeUnit.SECONDS, clock)
            : new SlidingTimeWindowReservoir(3, TimeUnit.SECONDS, clock);
        Histogram latencies = new Histogram(window);
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(() -> play(latencies), "log-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            System.out.println("proof: " + collector.getName() + " " + collector.getCollectionCount() + " in s "
                + collector.getCollectionTime() / 1e3);
        }
        System.out.println("proof: lines=" + lines + " in_s=" + (System.nanoTime() - start) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void play(Histogram latencies) {
        while (true) {
            byte[] line = new byte[80];
            long number = lines.incrementAndGet();
            line[(int) (number % line.length)] = 1;
            latencies.update(1_000_000 + number % 999_983);
        }
    }
}
