package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import tyrion.support.Json;

/**
 * {@code spins THREADS ROUNDS HOLDMICROS}: threads take turns at one lock, each for so short that
 * HotSpot spins for it and reports few waits. The program takes the time itself, from in front of
 * the block, and adds up what took 20 us or longer.
 */
final class Spins implements Scenario {
    private static final long LONG_NANOS = 20_000;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int threadCount = arguments.number(0, 2);
        int rounds = arguments.number(1, 5_000);
        long holdNanos = arguments.number(2, 40) * 1_000L;

        Object lock = new Object();
        CountDownLatch started = new CountDownLatch(1);
        List<Turns> turns = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            Turns its = new Turns(lock, rounds, holdNanos, started);
            turns.add(its);
            threads.add(Threads.start("spinner-" + i, its));
        }
        started.countDown();
        Threads.join(threads);

        long waits = 0;
        long waitNanos = 0;
        for (Turns its : turns) {
            waits += its.waits;
            waitNanos += its.waitNanos;
        }
        report.put("threads", threadCount)
                .put("class", Turns.class.getName())
                .put("long_ns", LONG_NANOS)
                .put("waits", waits)
                .put("wait_ns", waitNanos);
    }

    /** A thread's turns at the lock. */
    private static final class Turns implements Runnable {
        private final Object lock;
        private final int rounds;
        private final long holdNanos;
        private final CountDownLatch started;
        private long waits;
        private long waitNanos;

        Turns(Object lock, int rounds, long holdNanos, CountDownLatch started) {
            this.lock = lock;
            this.rounds = rounds;
            this.holdNanos = holdNanos;
            this.started = started;
        }

        @Override
        public void run() {
            try {
                started.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            for (int i = 0; i < rounds; i++) {
                long wanted = System.nanoTime();
                synchronized (lock) {
                    long got = System.nanoTime();
                    if (got - wanted >= LONG_NANOS) {
                        waits++;
                        waitNanos += got - wanted;
                    }
                    busyUntil(got + holdNanos);
                }
                busyUntil(System.nanoTime() + holdNanos);
            }
        }

        private static void busyUntil(long end) {
            while (System.nanoTime() - end < 0) {
                Thread.onSpinWait();
            }
        }
    }
}
