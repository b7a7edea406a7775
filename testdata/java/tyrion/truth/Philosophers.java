package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code philosophers [TABLE...]}: at each table sit four philosophers, threads "TABLE-1" to
 * "TABLE-4", with a fork between any two. Each takes the fork to the left and then, while holding
 * it, the one to the right; they eat in turn, so nothing ever deadlocks. Whether they could, had
 * they sat down at once, is in {@code can_deadlock}; the identity hash of each monitor in {@code
 * forks} (0 for a {@link ReentrantLock}, whose sync only the lock can get at). Tables, by default
 * all:
 *
 * <ul>
 *   <li>"monitor", "lock" and "mixed" of both, which could;
 *   <li>"gated-monitor", "gated-lock", "gated-mixed": all take the table's gate before, and could
 *       not;
 *   <li>"two-gated": only two of the four do, which is enough;
 *   <li>"one-gated": only one does, which is no use;
 *   <li>"own-gates": each has a gate of its own, which is no use either;
 *   <li>"ordered": the last one takes the forks the other way round, and they could not;
 *   <li>"alone": one thread sits at all the places, one after the other, and could not.
 * </ul>
 */
final class Philosophers implements Scenario {
    private static final int SEATS = 4;
    private static final int MEALS = 4;
    /** Between two meals: a profiler may need some time to tell forks apart. */
    private static final int THINKING_MILLIS = 10;
    private static final String[] TABLES = {
        "monitor", "lock", "mixed", "gated-monitor", "gated-lock", "gated-mixed", "two-gated",
        "one-gated", "own-gates", "ordered", "alone",
    };

    @Override
    public void run(Arguments arguments, Json report) {
        String[] names = arguments.from(0);
        List<Json> tables = new ArrayList<>();
        for (String name : names.length == 0 ? TABLES : names) {
            tables.add(new Table(name).serve());
        }
        report.put("meals", MEALS).put("tables", tables);
    }

    /** Forks, and who sits between which. */
    private static final class Table {
        private final String name;
        private final List<Fork> forks = new ArrayList<>();
        private final List<Seat> seats = new ArrayList<>();
        /** Whose turn it is to eat. */
        private volatile int turn;

        Table(String name) {
            this.name = name;
            for (int i = 0; i < SEATS; i++) {
                forks.add(fork(i));
            }
            Gate gate = name.endsWith("lock") || name.endsWith("mixed")
                    ? new LockGate()
                    : new MonitorGate();
            for (int i = 0; i < SEATS; i++) {
                Fork left = forks.get(i);
                Fork right = forks.get((i + 1) % SEATS);
                boolean isLast = name.equals("ordered") && i == SEATS - 1;
                seats.add(new Seat(gate(i, gate), isLast ? right : left, isLast ? left : right));
            }
        }

        private Fork fork(int place) {
            boolean isLock = name.endsWith("lock") || name.endsWith("mixed") && place % 2 == 1;
            return isLock ? new LockFork() : new MonitorFork();
        }

        /** The gate that the one at a place takes, or none. */
        private Gate gate(int place, Gate shared) {
            switch (name) {
                case "gated-monitor":
                case "gated-lock":
                case "gated-mixed":
                    return shared;
                case "two-gated":
                    return place % 2 == 0 ? shared : new NoGate();
                case "one-gated":
                    return place == 0 ? shared : new NoGate();
                case "own-gates":
                    return new MonitorGate();
                default:
                    return new NoGate();
            }
        }

        private boolean canDeadlock() {
            List<String> safe = Arrays.asList("two-gated", "ordered", "alone");
            return !name.startsWith("gated-") && !safe.contains(name);
        }

        /** All eat, one after the other, but all of them are there all the time. */
        Json serve() {
            List<Thread> threads = new ArrayList<>();
            List<String> names = new ArrayList<>();
            boolean isAlone = name.equals("alone");
            for (int i = 0; i < (isAlone ? 1 : SEATS); i++) {
                int own = i;
                names.add(name + "-" + (i + 1));
                threads.add(Threads.start(names.get(i), isAlone ? this::eatAlone : () -> eat(own)));
            }
            Threads.join(threads);
            List<Integer> hashes = new ArrayList<>();
            for (Fork fork : forks) {
                hashes.add(fork.hash());
            }
            return new Json()
                    .put("table", name)
                    .put("can_deadlock", canDeadlock())
                    .put("threads", names)
                    .put("forks", hashes);
        }

        private void eat(int own) {
            for (int meal = 0; meal < MEALS; meal++) {
                while (turn != own) {
                    Threads.sleepMillis(1);
                }
                seats.get(own).eat();
                if (own == SEATS - 1) {
                    Threads.sleepMillis(THINKING_MILLIS);
                }
                turn = (own + 1) % SEATS;
            }
        }

        private void eatAlone() {
            for (int meal = 0; meal < MEALS; meal++) {
                for (Seat seat : seats) {
                    seat.eat();
                }
                Threads.sleepMillis(THINKING_MILLIS);
            }
        }
    }

    /** A place at a table. */
    private static final class Seat {
        private final Gate gate;
        private final Fork first;
        private final Fork second;

        Seat(Gate gate, Fork first, Fork second) {
            this.gate = gate;
            this.first = first;
            this.second = second;
        }

        void eat() {
            gate.pass(this::takeFirst);
        }

        private void takeFirst() {
            first.take(this::takeSecond);
        }

        private void takeSecond() {
            second.take(Seat::chew);
        }

        private static void chew() {}
    }

    /** Something that one philosopher at a time can have. */
    private interface Fork {
        void take(Runnable inside);

        /** The identity hash of what is locked, 0 if it cannot be asked for. */
        int hash();
    }

    private static final class MonitorFork implements Fork {
        @Override
        public synchronized void take(Runnable inside) {
            inside.run();
        }

        @Override
        public int hash() {
            return System.identityHashCode(this);
        }
    }

    private static final class LockFork implements Fork {
        private final ReentrantLock fork = new ReentrantLock();

        @Override
        public void take(Runnable inside) {
            fork.lock();
            try {
                inside.run();
            } finally {
                fork.unlock();
            }
        }

        @Override
        public int hash() {
            return 0;
        }
    }

    /** What is taken before the forks. */
    private interface Gate {
        void pass(Runnable inside);
    }

    private static final class NoGate implements Gate {
        @Override
        public void pass(Runnable inside) {
            inside.run();
        }
    }

    private static final class MonitorGate implements Gate {
        @Override
        public void pass(Runnable inside) {
            synchronized (this) {
                inside.run();
            }
        }
    }

    private static final class LockGate implements Gate {
        private final ReentrantLock gate = new ReentrantLock();

        @Override
        public void pass(Runnable inside) {
            gate.lock();
            try {
                inside.run();
            } finally {
                gate.unlock();
            }
        }
    }
}
