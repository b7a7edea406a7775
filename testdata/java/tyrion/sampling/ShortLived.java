package tyrion.sampling;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import tyrion.support.Json;

/**
 * Threads "short" that live for less than the period of a sampler, and do the same all the time:
 * they sleep and compute in turns. The last line on stdout is one JSON object: how many there were,
 * for how long they lived together, and the CPU time that they used.
 *
 * <p>Usage: {@code java tyrion.sampling.ShortLived [MILLIS [THREADS]]}, defaults 30 and 500: how
 * long a thread sleeps and computes, and how many there are, a multiple of four.
 */
public final class ShortLived {
    /** So many live at a time. */
    private static final int LINES = 4;
    /** Between one and the next. */
    private static final int GAP_MILLIS = 10;

    private static final AtomicLong COUNT = new AtomicLong();
    private static final AtomicLong LIVED_NANOS = new AtomicLong();
    private static final AtomicLong CPU_NANOS = new AtomicLong();

    private ShortLived() {}

    public static void main(String[] args) throws InterruptedException {
        int millis = args.length > 0 ? Integer.parseInt(args[0]) : 30;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 500;
        List<Thread> lines = new ArrayList<>();
        for (int i = 0; i < LINES; i++) {
            Thread line = new Line(millis, threads / LINES);
            line.start();
            lines.add(line);
        }
        for (Thread line : lines) {
            line.join();
        }
        System.out.println(new Json()
                .put("threads", COUNT.get())
                .put("lived_ns", LIVED_NANOS.get())
                .put("cpu_ns", CPU_NANOS.get()));
    }

    /** Starts one after the other. */
    private static final class Line extends Thread {
        private final int millis;
        private final int threads;

        Line(int millis, int threads) {
            super("line");
            this.millis = millis;
            this.threads = threads;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < threads; i++) {
                    Thread next = new Short(millis);
                    next.start();
                    next.join();
                    Thread.sleep(GAP_MILLIS);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** One of them. */
    private static final class Short extends Thread {
        private final int millis;

        Short(int millis) {
            super("short");
            this.millis = millis;
        }

        @Override
        public void run() {
            long began = System.nanoTime();
            long end = began + millis * 1_000_000L;
            try {
                while (System.nanoTime() < end) {
                    Thread.sleep(1);
                    Cpu.burn(1);
                    Thread.sleep(1);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            COUNT.incrementAndGet();
            CPU_NANOS.addAndGet(Cpu.nanos());
            LIVED_NANOS.addAndGet(System.nanoTime() - began);
        }
    }
}
