package tyrion.truth;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Ballast;
import tyrion.support.Json;

/**
 * {@code guilty FOLDER KIND}: threads rage for one lock, and take locks of their own beside; with
 * KIND {@code none} only those, with {@code own} a lock of which trace mode does not count
 * acquisitions, with {@code turn} and {@code turn-lock} one that they take in turns to wait for
 * work, and with {@code stuck} one that is not given back. Does what files in the folder say by
 * their names, removes them, and prints the names:
 *
 * <ul>
 *   <li>{@code quiet}: the threads rest; {@code rage}: they go on
 *   <li>{@code stamped}: the same with another lock, as with KIND {@code stamped}
 *   <li>{@code count}: the main thread takes the lock a thousand times, and its own as often
 *   <li>{@code force}: the same, with the probes of trace mode on, if there are any in this class;
 *       needs {@code --add-opens=java.base/java.lang=ALL-UNNAMED}
 *   <li>{@code fill}: fills the heap, and then writes to the file {@code filled}; {@code free}:
 *       frees it
 *   <li>{@code end}: the program ends
 * </ul>
 */
final class Guilty implements Scenario {
    private static final String[] STEPS = {
        "quiet", "rage", "stamped", "count", "force", "fill", "free", "end"
    };
    private static final int THREADS = 4;
    private static final int TIMES = 1000;
    private static final long HELD_NS = 100_000;
    private static final long TURN_MS = 20;

    private final Object hot = new Object();
    private final ReentrantLock hotLock = new ReentrantLock();
    private final StampedLock hotStamped = new StampedLock();
    private final Mutex ownLock = new Mutex();
    private final BlockingQueue<Object> work = new LinkedBlockingQueue<>();
    private final AtomicInteger resting = new AtomicInteger();
    private Object[] ballast;
    private RandomAccessFile filled;
    private volatile boolean isQuiet;
    private volatile boolean ends;
    private volatile String kind;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        File folder = new File(arguments.text(0, "."));
        kind = arguments.text(1, "monitor");
        File[] files = new File[STEPS.length];
        for (int i = 0; i < STEPS.length; i++) {
            files[i] = new File(folder, STEPS[i]);
        }
        filled = new RandomAccessFile(new File(folder, "filled"), "rw");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(Threads.start("guilty-" + i, this::rage));
        }
        System.out.println("raging");
        while (!ends) {
            try {
                for (int i = 0; i < STEPS.length; i++) {
                    if (files[i].exists()) {
                        step(STEPS[i]);
                        files[i].delete();
                        System.out.println(STEPS[i]);
                    }
                }
            } catch (OutOfMemoryError e) {
                // It goes on when there is room.
            }
            Threads.sleepMillis(5);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void step(String step) throws Exception {
        switch (step) {
            case "quiet":
                isQuiet = true;
                while (resting.get() < THREADS) {
                    Threads.sleepMillis(1);
                }
                break;
            case "rage":
                isQuiet = false;
                break;
            case "stamped":
                kind = "stamped";
                break;
            case "count":
                count();
                break;
            case "force":
                force();
                break;
            case "fill":
                fill();
                break;
            case "free":
                ballast = null;
                break;
            default:
                ends = true;
        }
    }

    private void rage() {
        Object own = new Object();
        while (!ends) {
            if (isQuiet) {
                resting.incrementAndGet();
                while (isQuiet && !ends) {
                    Threads.sleepMillis(1);
                }
                resting.decrementAndGet();
            }
            takeOwn(own);
            take(HELD_NS);
        }
    }

    private void count() {
        Object own = new Object();
        for (int i = 0; i < TIMES; i++) {
            take(0);
            takeOwn(own);
        }
    }

    private void force() throws Exception {
        Field on;
        try {
            on = Class.forName("java.lang.TyrionTrace").getDeclaredField("on");
        } catch (ClassNotFoundException e) {
            // There is nothing that probes could call.
            return;
        }
        on.setAccessible(true);
        on.setBoolean(null, true);
        count();
        on.setBoolean(null, false);
    }

    private void fill() throws IOException {
        if (filled.length() != 0) {
            return;
        }
        ballast = Ballast.ofAllThatIsFree();
        filled.write(1);
    }

    private void take(long heldNs) {
        switch (kind) {
            case "monitor":
                synchronized (hot) {
                    hold(heldNs);
                }
                break;
            case "lock":
                hotLock.lock();
                try {
                    hold(heldNs);
                } finally {
                    hotLock.unlock();
                }
                break;
            case "own":
                ownLock.lock();
                try {
                    hold(heldNs);
                } finally {
                    ownLock.unlock();
                }
                break;
            case "turn":
                synchronized (hot) {
                    awaitWork();
                }
                break;
            case "turn-lock":
                hotLock.lock();
                try {
                    awaitWork();
                } finally {
                    hotLock.unlock();
                }
                break;
            case "stuck":
                synchronized (hot) {
                    while (!ends) {
                        Threads.sleepMillis(1);
                    }
                }
                break;
            case "stamped":
                long stamp = hotStamped.writeLock();
                try {
                    hold(heldNs);
                } finally {
                    hotStamped.unlockWrite(stamp);
                }
                break;
            default:
                hold(heldNs);
        }
    }

    private void awaitWork() {
        try {
            work.poll(TURN_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void takeOwn(Object own) {
        synchronized (own) {
            hold(0);
        }
    }

    private static void hold(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() - end < 0) {
            // It computes.
        }
    }
}
