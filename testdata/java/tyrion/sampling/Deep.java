package tyrion.sampling;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * Many threads with deep stacks, of which two compute and count their rounds: what sampling costs.
 * The others wait, park, or wake up every now and then, a third of them each. All of them are
 * stopped ten times a second for a short look, which tells how long it takes to stop them.
 *
 * <p>Usage: {@code java tyrion.sampling.Deep [THREADS [DEPTH [SECONDS [WARMUP]]]]}, defaults 50, 60,
 * 5 and 2. Prints one JSON object, of the time after the warm-up: from {@code from_uptime_s} to
 * {@code till_uptime_s}, as the JVM's own logs count.
 */
public final class Deep {
    private static final int COMPUTING = 2;
    private static final long NAP_MILLIS = 50;
    private static final long LOOK_MILLIS = 100;
    /** Of a round, which is some tens of microseconds. */
    private static final int STEPS = 20_000;

    private static volatile boolean isOver;

    private Deep() {}

    public static void main(String[] args) throws InterruptedException {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        int depth = args.length > 1 ? Integer.parseInt(args[1]) : 60;
        double seconds = args.length > 2 ? Double.parseDouble(args[2]) : 5;
        double warmupSeconds = args.length > 3 ? Double.parseDouble(args[3]) : 2;

        CountDownLatch begun = new CountDownLatch(threads);
        List<Diver> divers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Diver diver = new Diver(Role.of(i), i, depth, begun);
            diver.start();
            divers.add(diver);
        }
        begun.await();
        sleepAndLook(warmupSeconds);
        Reading before = new Reading(divers);
        sleepAndLook(seconds);
        Reading after = new Reading(divers);
        isOver = true;

        long rounds = after.rounds - before.rounds;
        long wallNanos = after.wallNanos - before.wallNanos;
        long cpuNanos = after.processCpuNanos - before.processCpuNanos;
        System.out.println(new Json()
                .put("threads", threads)
                .put("depth", depth)
                .put("rounds", rounds)
                .put("wall_ns", wallNanos)
                .put("process_cpu_ns", cpuNanos)
                .put("from_uptime_s", before.uptimeMillis / 1000.0)
                .put("till_uptime_s", after.uptimeMillis / 1000.0)
                .put("rounds_per_second", rounds * 1e9 / wallNanos)
                .put("rounds_per_cpu_second", rounds * 1e9 / cpuNanos));
    }

    /** The look is for a deadlock, which the JVM takes at a safepoint. */
    private static void sleepAndLook(double seconds) throws InterruptedException {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = System.nanoTime() + (long) (seconds * 1e9);
        while (System.nanoTime() < end) {
            Thread.sleep(LOOK_MILLIS);
            if (threads.findMonitorDeadlockedThreads() != null) {
                throw new IllegalStateException("a deadlock");
            }
        }
    }

    /** All that is counted, at one moment, while the threads go on. */
    private static final class Reading {
        private final long rounds;
        private final long processCpuNanos = Jvm.processCpuNanos();
        private final long wallNanos = System.nanoTime();
        private final long uptimeMillis = ManagementFactory.getRuntimeMXBean().getUptime();

        Reading(List<Diver> divers) {
            long sum = 0;
            for (Diver diver : divers) {
                sum += diver.rounds;
            }
            rounds = sum;
        }
    }

    private enum Role {
        COMPUTES,
        WAITS,
        PARKS,
        NAPS;

        static Role of(int index) {
            if (index < COMPUTING) {
                return COMPUTES;
            }
            return values()[1 + index % 3];
        }
    }

    /** A thread that does at the end of a deep stack what its role is. */
    private static final class Diver extends Thread {
        private final Role role;
        private final int depth;
        private final CountDownLatch begun;
        private long value;
        private volatile long rounds;

        Diver(Role role, int index, int depth, CountDownLatch begun) {
            super(role.name().toLowerCase(Locale.ROOT) + "-" + index);
            this.role = role;
            this.depth = depth;
            this.begun = begun;
            setDaemon(true);
        }

        /** The first of the frames; each dive is one more, and what is done two. */
        @Override
        public void run() {
            dive(depth - 3);
        }

        private void dive(int deeper) {
            if (deeper > 1) {
                dive(deeper - 1);
                return;
            }
            begun.countDown();
            while (!isOver) {
                switch (role) {
                    case COMPUTES:
                        compute();
                        break;
                    case WAITS:
                        await();
                        break;
                    case PARKS:
                        LockSupport.park();
                        break;
                    default:
                        nap();
                }
            }
        }

        private void compute() {
            step();
            rounds++;
        }

        private void step() {
            long result = value;
            for (int i = 0; i < STEPS; i++) {
                result = result * 31 + i;
            }
            value = result;
        }

        private synchronized void await() {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void nap() {
            step();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(NAP_MILLIS));
        }
    }
}
