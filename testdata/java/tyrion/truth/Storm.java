package tyrion.truth;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code storm SECONDS KIND}: four threads hammer one monitor (KIND {@code monitor}) or one {@link
 * ReentrantLock} (KIND {@code lock}), and yield while they hold it. On one CPU ({@code taskset -c
 * 0}) nearly every acquisition is contended.
 *
 * <p>With {@code -Dtruth.counters=FILE} the file holds, per thread, its number of acquisitions
 * since it began, as 8 bytes, little endian, and then, per thread, how many of these it had to wait
 * for, which it asks the JVM after each: mapped memory, so it survives {@code kill -9}. With
 * {@code -Dtruth.warmup=SECONDS} (a fraction will do) the storm runs that long before it is
 * measured. With {@code -Dtruth.until=FILE} it ends once that file is there, if SECONDS are not over
 * before. {@code -Dtruth.depth=FRAMES} has so many more frames lead to the lock, {@code
 * -Dtruth.threads=N} so many threads take it, and with {@code -Dtruth.cold=BYTES} each thread
 * touches so much memory of its own between two acquisitions, as a program does that works: what
 * it needs for the next one is in no cache then.
 *
 * <p>Prints "raging" once all threads have been started. Reported are the measured time only, and
 * with {@code total_} all since the beginning.
 */
final class Storm implements Scenario {
    private static final int THREADS = Integer.getInteger("truth.threads", 4);
    private static final int COLD_BYTES = Integer.getInteger("truth.cold", 0);
    private static final int CACHE_LINE = 64;
    private static final int DEPTH = Integer.getInteger("truth.depth", 0);

    private final List<Hammer> hammers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        long seconds = arguments.number(0, 2);
        String kind = arguments.text(1, "monitor");
        double warmupSeconds = Double.parseDouble(System.getProperty("truth.warmup", "0"));

        String countersFile = System.getProperty("truth.counters");
        ByteBuffer counters = counters(countersFile);
        boolean asks = countersFile != null;
        Target target = new Target();
        for (int slot = 0; slot < THREADS; slot++) {
            Hammer hammer = kind.equals("lock")
                    ? new LockHammer(target, counters, slot, asks)
                    : new MonitorHammer(target, counters, slot, asks);
            hammers.add(hammer);
            threads.add(Threads.start("storm-" + (slot + 1), hammer));
        }

        System.out.println("raging");
        System.out.flush();
        Threads.sleepMillis((long) (warmupSeconds * 1000));
        Reading before = new Reading(counters);
        rage(seconds * 1000, System.getProperty("truth.until"));
        Reading after = new Reading(counters);
        stopping = true;
        Threads.join(threads);

        long totalBlocked = 0;
        for (Hammer hammer : hammers) {
            totalBlocked += hammer.blockedCount;
        }
        report.put("kind", kind)
                .put("threads", THREADS)
                .put("acquisitions", after.acquisitions - before.acquisitions)
                .put("blocked_count", after.blockedCount - before.blockedCount)
                .put("process_cpu_ns", after.processCpuNanos - before.processCpuNanos)
                .put("wall_ns", after.wallNanos - before.wallNanos)
                .put("total_acquisitions", sum(counters))
                .put("total_blocked_count", totalBlocked);
    }

    /** Lets the storm go on for a time, or until a file is there. */
    private static void rage(long millis, String until) {
        if (until == null) {
            Threads.sleepMillis(millis);
            return;
        }
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end && !Files.exists(Paths.get(until))) {
            Threads.sleepMillis(10);
        }
    }

    private static ByteBuffer counters(String file) throws IOException {
        int size = 2 * THREADS * Long.BYTES;
        if (file == null) {
            return ByteBuffer.allocateDirect(size).order(ByteOrder.LITTLE_ENDIAN);
        }
        try (FileChannel channel = FileChannel.open(
                Paths.get(file),
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, size)
                    .order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    private static long sum(ByteBuffer counters) {
        long sum = 0;
        for (int slot = 0; slot < THREADS; slot++) {
            sum += counters.getLong(slot * Long.BYTES);
        }
        return sum;
    }

    /** All that is counted, at one moment, while the storm goes on. */
    private final class Reading {
        private final long acquisitions;
        private final long blockedCount;
        private final long processCpuNanos;
        private final long wallNanos;

        Reading(ByteBuffer counters) {
            long blocked = 0;
            for (Thread thread : threads) {
                blocked += Jvm.blockedCount(thread);
            }
            blockedCount = blocked;
            acquisitions = sum(counters);
            processCpuNanos = Jvm.processCpuNanos();
            wallNanos = System.nanoTime();
        }
    }

    /** What is hammered: a monitor, and a lock. */
    private static final class Target {
        private final ReentrantLock lock = new ReentrantLock();
    }

    /** One of the threads. Eight frames lead to the lock: Thread.run, run, deeper and a1 to a5;
     * with {@code -Dtruth.depth} so many more. */
    private abstract class Hammer implements Runnable {
        final Target target;
        private final ByteBuffer counters;
        private final int index;
        private final boolean asks;
        private final byte[] own = new byte[COLD_BYTES];
        private long acquisitions;
        private long contended;
        private long waits;
        private long blockedCount;

        Hammer(Target target, ByteBuffer counters, int slot, boolean asks) {
            this.target = target;
            this.counters = counters;
            this.index = slot * Long.BYTES;
            this.asks = asks;
        }

        @Override
        public final void run() {
            waits = waits();
            while (!stopping) {
                deeper(DEPTH);
                for (int i = 0; i < own.length; i += CACHE_LINE) {
                    own[i]++;
                }
            }
            blockedCount = Jvm.blockedCount();
        }

        private void deeper(int frames) {
            if (frames > 0) {
                deeper(frames - 1);
            } else {
                a1();
            }
        }

        private void a1() {
            a2();
        }

        private void a2() {
            a3();
        }

        private void a3() {
            a4();
        }

        private void a4() {
            a5();
        }

        /** Takes the lock, and hits while it is held. */
        abstract void a5();

        /** How often the JVM has had the current thread wait so far. */
        abstract long waits();

        final void hit() {
            counters.putLong(index, ++acquisitions);
            if (asks) {
                long before = waits;
                waits = waits();
                if (waits != before) {
                    counters.putLong(THREADS * Long.BYTES + index, ++contended);
                }
            }
            Thread.yield();
        }
    }

    /** Takes the monitor. */
    private final class MonitorHammer extends Hammer {
        MonitorHammer(Target target, ByteBuffer counters, int slot, boolean asks) {
            super(target, counters, slot, asks);
        }

        @Override
        long waits() {
            return Jvm.blockedCount();
        }

        @Override
        void a5() {
            synchronized (target) { // WAIT
                hit();
            }
        }
    }

    /** Takes the lock. */
    private final class LockHammer extends Hammer {
        LockHammer(Target target, ByteBuffer counters, int slot, boolean asks) {
            super(target, counters, slot, asks);
        }

        @Override
        long waits() {
            return Jvm.waitedCount();
        }

        @Override
        void a5() {
            target.lock.lock(); // WAIT
            try {
                hit();
            } finally {
                target.lock.unlock();
            }
        }
    }
}
