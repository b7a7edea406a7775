package tyrion.owners;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code Holders KIND MILLIS [virtual]}: four threads take one lock, a monitor or a ReentrantLock,
 * again and again. "long" holds it for 2 ms in {@code holdLong}, in which it sleeps; "short" for
 * 0.1 ms in {@code holdShort}; "brief" and "other" for 20 µs in {@code holdBrief}. At the end the
 * program says how long each has held the lock, in ns, how often, and how long others waited
 * meanwhile: the length of each hold times the number of those who wait, the mean of those at its
 * begin and at its end.
 */
public final class Holders {
    // Not private: for Java 8, inner classes call methods for what is.
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();

    private final boolean isMonitor;
    private final long endNs;
    private final boolean areVirtual;
    private final AtomicInteger waiting = new AtomicInteger();

    private Holders(String[] arguments) {
        isMonitor = arguments[0].equals("monitor");
        awaitGo();
        endNs = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000;
        areVirtual = arguments.length > 2;
    }

    /** Says that it is ready and waits for the file, if there is to be one. */
    static void awaitGo() {
        String go = System.getProperty("truth.go");
        if (go == null) {
            return;
        }
        System.out.println("ready");
        while (!Files.exists(Paths.get(go))) {
            spin(1_000_000);
        }
    }

    public static void main(String[] arguments) throws Exception {
        new Holders(arguments).run();
    }

    private void run() throws Exception {
        Turn[] turns = {
            new Turn("long", this::holdLong, 500_000),
            new Turn("short", this::holdShort, 200_000),
            new Turn("brief", this::holdBrief, 50_000),
            new Turn("other", this::holdBrief, 50_000),
        };
        Thread[] threads = new Thread[turns.length];
        for (int i = 0; i < turns.length; i++) {
            threads[i] = Virtual.thread(turns[i].name, turns[i], areVirtual);
            threads[i].start();
        }
        Json report = new Json();
        for (int i = 0; i < turns.length; i++) {
            threads[i].join();
            report.put(turns[i].name + "_ns", turns[i].heldNs).put(turns[i].name, turns[i].times)
                    .put(turns[i].name + "_made_wait_ns", turns[i].madeWaitNs);
        }
        System.out.println(report);
    }

    /** What one thread does. */
    private final class Turn implements Runnable {
        private final String name;
        private final Runnable hold;
        private final long pauseNs;
        private long heldNs;
        private long madeWaitNs;
        private long times;

        Turn(String name, Runnable hold, long pauseNs) {
            this.name = name;
            this.hold = hold;
            this.pauseNs = pauseNs;
        }

        @Override
        public void run() {
            while (System.nanoTime() < endNs) {
                take();
                times++;
                spin(pauseNs);
            }
        }

        private void take() {
            waiting.incrementAndGet();
            if (isMonitor) {
                synchronized (MONITOR) {
                    hold();
                }
                return;
            }
            LOCK.lock();
            try {
                hold();
            } finally {
                LOCK.unlock();
            }
        }

        private void hold() {
            int before = waiting.decrementAndGet();
            long fromNs = System.nanoTime();
            hold.run();
            long ns = System.nanoTime() - fromNs;
            heldNs += ns;
            madeWaitNs += ns * (before + waiting.get()) / 2;
        }
    }

    private void holdLong() {
        try {
            Thread.sleep(2);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void holdShort() {
        spin(100_000);
    }

    private void holdBrief() {
        spin(20_000);
    }

    private static void spin(long ns) {
        long endNs = System.nanoTime() + ns;
        while (System.nanoTime() < endNs) {
            Older.onSpinWait();
        }
    }
}
