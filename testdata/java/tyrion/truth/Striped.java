package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code striped STRIPES}: eight threads, "client-1" to "client-8", put the same entries into a map
 * whose keys are spread over STRIPES locks, kept for 2 ms, asleep: with 1 they all wait for one
 * another, with 16 seldom. That is the hot lock. Whatever becomes of it, two threads meet as often
 * as ever at a {@code Ledger}, which one keeps from the other for 3 ms or more. With 1 stripe they do so at
 * {@code Before} too, a lock that is gone with more; then they do so at {@code After}.
 *
 * <p>In {@code locks}, by class: acquisitions, and the wait that the threads measured; of those
 * at which two threads meet also what it was at the least.
 */
final class Striped implements Scenario {
    private static final int CLIENTS = 8;
    private static final int ENTRIES = 100;
    private static final int MEETINGS = 20;
    private static final int KEPT_MILLIS = 2;
    private static final int MEETING_MILLIS = 3;

    private final List<Locked> stripes = new ArrayList<>();
    private final Locked ledger = new Ledger();

    @Override
    public void run(Arguments arguments, Json report) {
        int stripeCount = arguments.number(0, 1);
        for (int i = 0; i < stripeCount; i++) {
            stripes.add(new Stripe());
        }
        Locked passing = stripeCount == 1 ? new Before() : new After();

        long begin = System.nanoTime();
        List<Client> clients = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            Client client = new Client(i);
            clients.add(client);
            threads.add(Threads.start("client-" + (i + 1), client));
        }
        Threads.join(threads);
        final long tableNanos = System.nanoTime() - begin;
        meet(ledger);
        meet(passing);

        long waited = 0;
        for (Client client : clients) {
            waited += client.waitNanos;
        }
        long entries = CLIENTS * ENTRIES;
        List<Json> locks = new ArrayList<>();
        locks.add(new Json()
                .put("class", Stripe.class.getName())
                .put("acquisitions", entries)
                .put("wait_ns", waited));
        locks.add(ledger.report());
        locks.add(passing.report());
        report.put("stripes", stripeCount)
                .put("table_ns", tableNanos)
                .put("entries_per_second", entries * 1_000_000_000 / tableNanos)
                .put("locks", locks);
    }

    /** Two threads meet at a lock again and again: one has it until the other one has waited. */
    private static void meet(Locked lock) {
        CyclicBarrier together = new CyclicBarrier(2);
        AtomicInteger asking = new AtomicInteger();
        Thread second = new Thread(() -> {
            for (int i = 0; i < MEETINGS; i++) {
                await(together);
                asking.incrementAndGet();
                lock.waitNanos += lock.keep(() -> {});
                await(together);
            }
        }, "meeting-2");
        Thread first = new Thread(() -> {
            for (int i = 1; i <= MEETINGS; i++) {
                int meeting = i;
                lock.keep(() -> {
                    await(together);
                    while (asking.get() < meeting) {
                        Threads.sleepMillis(1);
                    }
                    long waitingSince = Threads.awaitWaiting(second);
                    Threads.sleepMillis(MEETING_MILLIS);
                    lock.leastWaitNanos += System.nanoTime() - waitingSince;
                });
                await(together);
            }
        }, "meeting-1");
        first.start();
        second.start();
        Threads.join(Arrays.asList(first, second));
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** One of the threads. */
    private final class Client implements Runnable {
        private final SplittableRandom keys;
        private long waitNanos;

        Client(int index) {
            this.keys = new SplittableRandom(index);
        }

        @Override
        public void run() {
            for (int entry = 0; entry < ENTRIES; entry++) {
                Locked stripe = stripes.get(keys.nextInt(stripes.size()));
                waitNanos += stripe.keep(() -> Threads.sleepMillis(KEPT_MILLIS));
            }
        }
    }

    /** Something with one lock. */
    private abstract static class Locked {
        long leastWaitNanos;
        long waitNanos;

        /** Does something with the lock held, and returns how long it was waited for. */
        abstract long keep(Runnable inside);

        final Json report() {
            return new Json()
                    .put("class", getClass().getName())
                    .put("acquisitions", 2 * MEETINGS)
                    .put("least_wait_ns", leastWaitNanos)
                    .put("wait_ns", waitNanos);
        }
    }

    private static final class Stripe extends Locked {
        @Override
        long keep(Runnable inside) {
            long asked = System.nanoTime();
            synchronized (this) {
                long waited = System.nanoTime() - asked;
                inside.run();
                return waited;
            }
        }
    }

    private static final class Ledger extends Locked {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        long keep(Runnable inside) {
            long asked = System.nanoTime();
            lock.lock();
            try {
                long waited = System.nanoTime() - asked;
                inside.run();
                return waited;
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Before extends Locked {
        @Override
        long keep(Runnable inside) {
            long asked = System.nanoTime();
            synchronized (this) {
                long waited = System.nanoTime() - asked;
                inside.run();
                return waited;
            }
        }
    }

    private static final class After extends Locked {
        @Override
        long keep(Runnable inside) {
            long asked = System.nanoTime();
            synchronized (this) {
                long waited = System.nanoTime() - asked;
                inside.run();
                return waited;
            }
        }
    }
}
