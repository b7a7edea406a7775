package tyrion.sampling;

import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * Eight threads "passer-1" to "passer-8" hand a fair lock on, so that nearly always seven wait and
 * one computes; none of them does the same for long. The last line on stdout is one JSON object:
 * {@code held_ns}, for how long they had the lock together.
 *
 * <p>Usage: {@code java tyrion.sampling.HandOff [HOLDMICROS [SECONDS]]}, defaults 200 and 4.
 */
public final class HandOff {
    private static final int THREADS = 8;
    private static final ReentrantLock LOCK = new ReentrantLock(true);
    private static volatile long sink;

    private HandOff() {}

    public static void main(String[] args) throws InterruptedException {
        long hold = (args.length > 0 ? Long.parseLong(args[0]) : 200) * 1_000;
        long seconds = args.length > 1 ? Long.parseLong(args[1]) : 4;
        long end = System.nanoTime() + seconds * 1_000_000_000;
        long[] held = new long[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int own = i;
            threads[i] = new Thread(() -> held[own] = pass(hold, end), "passer-" + (i + 1));
            threads[i].start();
        }
        long sum = 0;
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
            sum += held[i];
        }
        System.out.println(new Json().put("held_ns", sum));
    }

    private static long pass(long hold, long end) {
        long held = 0;
        while (System.nanoTime() - end < 0) {
            LOCK.lock();
            try {
                long began = System.nanoTime();
                compute(hold);
                held += System.nanoTime() - began;
            } finally {
                LOCK.unlock();
            }
        }
        return held;
    }

    private static void compute(long nanos) {
        long end = System.nanoTime() + nanos;
        long mixed = end;
        while (System.nanoTime() - end < 0) {
            for (int i = 0; i < 50; i++) {
                mixed = mixed * 31 + i;
            }
        }
        sink = mixed;
    }
}
