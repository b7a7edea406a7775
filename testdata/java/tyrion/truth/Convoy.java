package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import tyrion.support.Json;

/**
 * {@code convoy [ROUNDS [HOLDMS]]}: in each round one slow thread keeps a lock, asleep in {@code
 * slowLookup}, while three threads of one group and two of another want it, in {@code fetch} and in
 * {@code store}, each once and for nothing. It keeps it for HOLDMS from the moment on when all of
 * them were seen to wait. So the slow one is to blame for nearly all their waiting. First with the
 * monitor of a {@code Ledger}: "keeper-1" keeps it from "web-1" to "web-3" and "batch-1" and
 * "batch-2"; then with a {@link ReentrantLock}: "clerk-1" from "api-1" to "api-3" and "cron-1" and
 * "cron-2".
 *
 * <p>In {@code threads}, for each: acquisitions; the wait at the least, from when it was seen until
 * the slow one was about to leave, and at the most, measured by the one who waits; the time held at
 * the least, measured inside, and at the most, measured outside; and for how long the thread ran.
 */
final class Convoy implements Scenario {
    private static final int FETCHERS = 3;
    private static final int STORERS = 2;

    private int rounds;
    private int holdMillis;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        rounds = arguments.number(0, 12);
        holdMillis = arguments.number(1, 30);
        // Loads and initializes what waiting threads use, so that they wait for the one lock only.
        for (String kind : Arrays.asList("monitor", "lock")) {
            Guard guard = Guard.of(kind);
            Encounter.stage(
                    new Holder(guard), Threads.named("first-" + kind), 1,
                    new Waiter(guard), Threads.named("second-" + kind));
        }
        List<Json> threads = new ArrayList<>();
        new Run("keeper-", "web-", "batch-", new MonitorLane()).report(threads);
        new Run("clerk-", "api-", "cron-", new LockLane()).report(threads);
        report.put("rounds", rounds)
                .put("hold_ms", holdMillis)
                .put("monitor_class", Ledger.class.getName())
                .put("threads", threads);
    }

    /** All rounds with one lock. */
    private final class Run {
        private final Lane lane;
        private final Member slow;
        private final List<Member> waiters = new ArrayList<>();
        private final AtomicInteger passed = new AtomicInteger();
        /** The round that is on: its lock is held. */
        private volatile int round;

        Run(String slow, String fetchers, String storers, Lane lane) {
            this.lane = lane;
            this.slow = new Member(slow + 1, this::keepTurns);
            for (int i = 1; i <= FETCHERS; i++) {
                waiters.add(new Member(fetchers + i, self -> takeTurns(self, lane::fetch)));
            }
            for (int i = 1; i <= STORERS; i++) {
                waiters.add(new Member(storers + i, self -> takeTurns(self, lane::store)));
            }
        }

        void report(List<Json> threads) {
            List<Member> members = new ArrayList<>(Arrays.asList(slow));
            members.addAll(waiters);
            // One after the other, as they end: else they meet at the lock of their thread group.
            for (Member member : members) {
                member.start();
            }
            for (Member member : members) {
                member.end();
                threads.add(member.report());
            }
        }

        private void keepTurns(Member member) {
            for (int turn = 1; turn <= rounds; turn++) {
                int now = turn;
                long asked = System.nanoTime();
                lane.keep(() -> {
                    long taken = System.nanoTime();
                    round = now;
                    for (Member waiter : waiters) {
                        waiter.awaitWaiting();
                    }
                    slowLookup();
                    long leaving = System.nanoTime();
                    for (Member waiter : waiters) {
                        waiter.mayGoOn(leaving);
                    }
                    member.held(System.nanoTime() - taken);
                });
                member.heldAtMost(System.nanoTime() - asked);
                while (passed.get() < turn * (FETCHERS + STORERS)) {
                    Threads.sleepMillis(1);
                }
            }
        }

        /** What takes so long. */
        private void slowLookup() {
            Threads.sleepMillis(holdMillis);
        }

        private void takeTurns(Member member, LongSupplier taking) {
            for (int turn = 1; turn <= rounds; turn++) {
                while (round < turn) {
                    Threads.sleepMillis(1);
                }
                long asked = System.nanoTime();
                member.waited(taking.getAsLong() - asked);
                member.heldAtMost(System.nanoTime() - member.leftToIt);
                passed.incrementAndGet();
            }
        }
    }

    /** One of the threads, and what it measures. */
    private static final class Member implements Runnable {
        /** What a thread does. */
        private interface Body {
            void run(Member self);
        }

        private final String name;
        private final Body body;
        private final Thread thread;
        private final CountDownLatch started = new CountDownLatch(1);
        private final CountDownLatch mayEnd = new CountDownLatch(1);
        private long waitingSince;
        /** When the slow one was about to leave the lock to this one. */
        private volatile long leftToIt;
        private long acquisitions;
        private long leastWaitNanos;
        private long waitNanos;
        private long longestLeastWaitNanos;
        private long longestWaitNanos;
        private long holdNanos;
        private long mostHoldNanos;
        private long longestHoldNanos;
        private long longestMostHoldNanos;
        private long ranNanos;

        Member(String name, Body body) {
            this.name = name;
            this.body = body;
            this.thread = new Thread(this, name);
        }

        @Override
        public void run() {
            started.countDown();
            long begin = System.nanoTime();
            body.run(this);
            ranNanos = System.nanoTime() - begin;
            Threads.await(mayEnd);
        }

        void start() {
            thread.start();
            Threads.await(started);
        }

        void end() {
            mayEnd.countDown();
            Threads.join(thread);
        }

        /**
         * Returns once it waits for the lock: between two turns it sleeps, which is waiting with a
         * limit.
         */
        void awaitWaiting() {
            waitingSince = Threads.awaitBlocked(thread);
        }

        void mayGoOn(long leaving) {
            leftToIt = leaving;
            leastWaitNanos += leaving - waitingSince;
            longestLeastWaitNanos = Math.max(longestLeastWaitNanos, leaving - waitingSince);
        }

        void waited(long nanos) {
            acquisitions++;
            waitNanos += nanos;
            longestWaitNanos = Math.max(longestWaitNanos, nanos);
        }

        void held(long nanos) {
            acquisitions++;
            holdNanos += nanos;
            longestHoldNanos = Math.max(longestHoldNanos, nanos);
        }

        void heldAtMost(long nanos) {
            mostHoldNanos += nanos;
            longestMostHoldNanos = Math.max(longestMostHoldNanos, nanos);
        }

        Json report() {
            return new Json()
                    .put("thread", name)
                    .put("acquisitions", acquisitions)
                    .put("contentions", holdNanos == 0 ? acquisitions : 0)
                    .put("least_wait_ns", leastWaitNanos)
                    .put("wait_ns", waitNanos)
                    .put("longest_least_wait_ns", longestLeastWaitNanos)
                    .put("longest_wait_ns", longestWaitNanos)
                    .put("hold_ns", holdNanos)
                    .put("most_hold_ns", mostHoldNanos)
                    .put("longest_hold_ns", longestHoldNanos)
                    .put("longest_most_hold_ns", longestMostHoldNanos)
                    .put("ran_ns", ranNanos);
        }
    }

    /** A lock, and the three ways to it. The last two return when they had it. */
    private interface Lane {
        void keep(Runnable inside);

        long fetch();

        long store();
    }

    /** The class of the monitor, for a report to name. */
    private static final class Ledger {}

    private static final class MonitorLane implements Lane {
        private final Ledger ledger = new Ledger();

        @Override
        public void keep(Runnable inside) {
            synchronized (ledger) {
                inside.run();
            }
        }

        @Override
        public long fetch() {
            synchronized (ledger) {
                return System.nanoTime();
            }
        }

        @Override
        public long store() {
            synchronized (ledger) {
                return System.nanoTime();
            }
        }
    }

    private static final class LockLane implements Lane {
        private final ReentrantLock queue = new ReentrantLock();

        @Override
        public void keep(Runnable inside) {
            queue.lock();
            try {
                inside.run();
            } finally {
                queue.unlock();
            }
        }

        @Override
        public long fetch() {
            queue.lock();
            try {
                return System.nanoTime();
            } finally {
                queue.unlock();
            }
        }

        @Override
        public long store() {
            queue.lock();
            try {
                return System.nanoTime();
            } finally {
                queue.unlock();
            }
        }
    }
}
