package tyrion.sampling;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import tyrion.api.Tyrion;
import tyrion.support.Json;

/**
 * Has many blocks sampled, one after the other, some with periods that are out of all bounds; and
 * some that it never closes. The last line on stdout is one JSON object: {@code blocks} is
 * their number, {@code started} that of the threads that the JVM has started meanwhile, {@code
 * started_late} in the last second.
 *
 * <p>Usage: {@code java tyrion.sampling.Blocks [MILLIS [UNCLOSED]]}, defaults 1000 and 0. Prints
 * "acting" when it has begun.
 */
public final class Blocks {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long[] PERIODS_MILLIS = {1, 10, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 62};

    private Blocks() {}

    public static void main(String[] args) throws InterruptedException {
        int millis = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        int unclosed = args.length > 1 ? Integer.parseInt(args[1]) : 0;
        long before = THREADS.getTotalStartedThreadCount();
        System.out.println("acting");
        int blocks = act(millis - 1000);
        for (int i = 0; i < unclosed; i++) {
            Tyrion.sampling();
        }
        long late = THREADS.getTotalStartedThreadCount();
        blocks += act(1000);
        long after = THREADS.getTotalStartedThreadCount();
        System.out.println(
                new Json()
                        .put("blocks", blocks)
                        .put("started", after - before)
                        .put("started_late", after - late));
    }

    @SuppressWarnings("try")
    private static int act(int millis) throws InterruptedException {
        long end = System.nanoTime() + millis * 1_000_000L;
        int blocks = 0;
        for (; System.nanoTime() < end; blocks++) {
            long periodMillis = PERIODS_MILLIS[blocks % PERIODS_MILLIS.length];
            try (Tyrion.Sampling sampling = Tyrion.sampling("block", periodMillis)) {
                Cpu.burn(0);
            }
            Thread.sleep(0, 300_000);
        }
        return blocks;
    }
}
