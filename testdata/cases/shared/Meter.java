import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** When the program ends, and what it did, by its own clock and counters. */
final class Meter {
    private static final LongAdder DONE = new LongAdder(), BUSY = new LongAdder();
    private static final LongAdder WAITS = new LongAdder(), WAITED = new LongAdder();
    private static final Map<Thread, Long> HANDLERS = new ConcurrentHashMap<>(), WAITERS = new ConcurrentHashMap<>();
    private static final long STARTED = System.nanoTime() - ProcessHandle.current().info().startInstant()
            .map(start -> Duration.between(start, Instant.now()).toNanos()).orElse(0L);
    private static volatile long begun = STARTED;

    interface Body {
        void run() throws Exception;
    }

    /** The program ends at the latest three seconds after it should. */
    static void start(int seconds) {
        thread("deadline", () -> {
            pause(Math.max(0, seconds * 1000L + 2700 - (System.nanoTime() - STARTED) / 1_000_000));
            Runtime.getRuntime().halt(0);
        });
    }

    /** Around what a handler does for one request. */
    static void handles() {
        HANDLERS.put(Thread.currentThread(), System.nanoTime());
    }

    static void handled() {
        add(HANDLERS.remove(Thread.currentThread()), System.nanoTime(), DONE, BUSY);
    }

    /** Around what a thread waits for, where others have to do something first. */
    static void waits() {
        WAITERS.put(Thread.currentThread(), System.nanoTime());
    }

    static void waited() {
        add(WAITERS.remove(Thread.currentThread()), System.nanoTime(), WAITS, WAITED);
    }

    private static void add(Long since, long now, LongAdder number, LongAdder nanos) {
        if (since != null) {
            number.increment();
            nanos.add(now - Math.max(since, begun));
        }
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    /** Computes for that long. */
    static int compute(long millis) {
        long until = System.nanoTime() + millis * 1_000_000;
        byte[] bytes = new byte[1024];
        int hash = 0;
        while (System.nanoTime() < until) {
            bytes[hash & 1023]++;
            hash += Arrays.hashCode(bytes);
        }
        return hash;
    }

    static void thread(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception failed) {
                failed.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Threads that do something again and again. */
    static void threads(int number, String name, Body body) {
        for (int i = 1; i <= number; i++) {
            thread(name + "-" + i, () -> {
                while (true) {
                    body.run();
                }
            });
        }
    }

    /** Does something each {@code millis}, also if what it caused has not ended yet. */
    static void each(long millis, String name, Body body) {
        thread(name, () -> {
            for (long next = System.nanoTime();; next += millis * 1_000_000) {
                pause(Math.max(0, (next - System.nanoTime()) / 1_000_000));
                body.run();
            }
        });
    }

    /** Once all is warm: counts for that long, prints, and ends. {@code pool} is part of its threads' names. */
    static void end(int seconds, String pool) {
        DONE.reset();
        BUSY.reset();
        WAITS.reset();
        WAITED.reset();
        begun = System.nanoTime();
        long until = Math.min(begun + seconds * 1_000_000_000L, STARTED + seconds * 1_000_000_000L + 2_300_000_000L);
        pause(Math.max(0, (until - begun) / 2_000_000));
        Map<String, Integer> states = new TreeMap<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().contains(pool)) {
                states.merge(thread.getState().toString(), 1, Integer::sum);
            }
        }
        pause(Math.max(0, (until - System.nanoTime()) / 1_000_000));
        long now = System.nanoTime();
        HANDLERS.values().forEach(since -> add(since, now, new LongAdder(), BUSY));
        WAITERS.values().forEach(since -> add(since, now, new LongAdder(), WAITED));
        long elapsed = now - begun;
        StringBuilder proof = new StringBuilder();
        proof.append("proof: seconds=").append(elapsed / 100_000_000 / 10.0);
        proof.append("\nproof: handled=").append(DONE.sum());
        proof.append("\nproof: handlers_busy=").append(100 * BUSY.sum() / elapsed / 100.0);
        proof.append("\nproof: waits_ended=").append(WAITS.sum());
        proof.append("\nproof: threads_waiting=").append(100 * WAITED.sum() / elapsed / 100.0);
        proof.append("\nproof: pool_states=").append(states);
        System.out.println(proof);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
