package tyrion.subjects;

import java.util.ArrayList;
import java.util.List;

/**
 * A program that computes, on more threads than most machines have processors: locks are not what
 * slows it. Each thread adds what it has computed to a common sum, under a lock, once in some
 * twenty milliseconds of work.
 *
 * <p>Usage: {@code java tyrion.subjects.Compute [SECONDS [THREADS]]}, defaults 10 and 8. Prints the
 * sum.
 */
public final class Compute {
    /** How often a number is mixed before the sum is told. */
    private static final int ROUND = 20_000_000;

    private long sum;
    private volatile boolean stopping;

    private Compute() {}

    public static void main(String[] args) throws InterruptedException {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        System.out.println(new Compute().run(seconds, threads));
    }

    private long run(double seconds, int count) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            long seed = i;
            Thread thread = new Thread(() -> work(seed), "worker-" + i);
            threads.add(thread);
            thread.start();
        }
        Thread.sleep((long) (seconds * 1000));
        stopping = true;
        for (Thread thread : threads) {
            thread.join();
        }
        return total();
    }

    private void work(long seed) {
        long value = seed;
        while (!stopping) {
            value = mix(value);
            add(value);
        }
    }

    private static long mix(long seed) {
        long value = seed;
        for (int i = 0; i < ROUND; i++) {
            value = value * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
            value ^= value >>> 29;
        }
        return value;
    }

    private synchronized void add(long value) {
        sum += value;
    }

    private synchronized long total() {
        return sum;
    }
}
