package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code convoy [ROUNDS [HOLDMS]]}: in each round one slow thread keeps a lock for HOLDMS, asleep
 * in {@code slowLookup}, while three threads of one group and two of another want it, in {@code
 * fetch} and in {@code store}, each once and for nothing. So the slow one is to blame for nearly
 * all their waiting. First with the monitor of a {@code Ledger}: "keeper-1" keeps it from "web-1"
 * to "web-3" and "batch-1" and "batch-2"; then with a {@link ReentrantLock}: "clerk-1" from "api-1"
 * to "api-3" and "cron-1" and "cron-2".
 *
 * <p>In {@code threads}, for each: acquisitions, the wait and the time held, and for how long the
 * thread ran.
 */
final class Convoy implements Scenario {
    private static final int FETCHERS = 3;
    private static final int STORERS = 2;

    private int rounds;
    private int holdMillis;

    @Override
    public void run(Arguments arguments, Json report) {
        rounds = arguments.number(0, 12);
        holdMillis = arguments.number(1, 30);
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
        private final List<Member> members = new ArrayList<>();
        private final AtomicInteger passed = new AtomicInteger();
        /** The round that is on: its lock is held. */
        private volatile int round;

        Run(String slow, String fetchers, String storers, Lane lane) {
            this.lane = lane;
            members.add(new Member(slow + 1, this::keepTurns));
            for (int i = 1; i <= FETCHERS; i++) {
                members.add(new Member(fetchers + i, this::fetchTurns));
            }
            for (int i = 1; i <= STORERS; i++) {
                members.add(new Member(storers + i, this::storeTurns));
            }
        }

        void report(List<Json> threads) {
            List<Thread> running = new ArrayList<>();
            for (Member member : members) {
                running.add(Threads.start(member.name, member));
            }
            Threads.join(running);
            for (Member member : members) {
                threads.add(member.report());
            }
        }

        private void keepTurns(Member member) {
            for (int turn = 1; turn <= rounds; turn++) {
                int now = turn;
                lane.keep(() -> {
                    long taken = System.nanoTime();
                    round = now;
                    slowLookup();
                    member.held(System.nanoTime() - taken);
                });
                while (passed.get() < turn * (FETCHERS + STORERS)) {
                    Threads.sleepMillis(1);
                }
            }
        }

        /** What takes so long. */
        private void slowLookup() {
            Threads.sleepMillis(holdMillis);
        }

        private void fetchTurns(Member member) {
            for (int turn = 1; turn <= rounds; turn++) {
                await(turn);
                long asked = System.nanoTime();
                member.waited(lane.fetch() - asked);
                passed.incrementAndGet();
            }
        }

        private void storeTurns(Member member) {
            for (int turn = 1; turn <= rounds; turn++) {
                await(turn);
                long asked = System.nanoTime();
                member.waited(lane.store() - asked);
                passed.incrementAndGet();
            }
        }

        private void await(int turn) {
            while (round < turn) {
                Threads.sleepMillis(1);
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
        private long acquisitions;
        private long waitNanos;
        private long shortestWaitNanos = Long.MAX_VALUE;
        private long longestWaitNanos;
        private long holdNanos;
        private long longestHoldNanos;
        private long ranNanos;

        Member(String name, Body body) {
            this.name = name;
            this.body = body;
        }

        @Override
        public void run() {
            long begin = System.nanoTime();
            body.run(this);
            ranNanos = System.nanoTime() - begin;
        }

        void waited(long nanos) {
            acquisitions++;
            waitNanos += nanos;
            shortestWaitNanos = Math.min(shortestWaitNanos, nanos);
            longestWaitNanos = Math.max(longestWaitNanos, nanos);
        }

        void held(long nanos) {
            acquisitions++;
            holdNanos += nanos;
            longestHoldNanos = Math.max(longestHoldNanos, nanos);
        }

        Json report() {
            boolean isWaiter = holdNanos == 0;
            return new Json()
                    .put("thread", name)
                    .put("acquisitions", acquisitions)
                    .put("contentions", isWaiter ? acquisitions : 0)
                    .put("wait_ns", waitNanos)
                    .put("shortest_wait_ns", isWaiter ? shortestWaitNanos : 0)
                    .put("longest_wait_ns", longestWaitNanos)
                    .put("hold_ns", holdNanos)
                    .put("longest_hold_ns", longestHoldNanos)
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
