package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code phases [MILLIS]}: four threads, "worker-1" to "worker-4", spend MILLIS without ever
 * waiting for a lock and then as long with a fair {@link ReentrantLock} that each keeps for 5 ms at
 * a time. All of this second phase "late" waits for a monitor that "host" has. Two threads,
 * "idler-1" and "idler-2", wait all the time for nobody.
 *
 * <p>{@code waits} has for each thread the waits it measured: the Unix time of the beginning and
 * the duration, in ns, in turns. {@code quiet_wall_ns}, {@code contended_wall_ns} and {@code
 * over_wall_ns} are when the phases begin and end, {@code busy} the threads that were there all the
 * time and not idle.
 */
final class Phases implements Scenario {
    private static final int WORKERS = 4;
    private static final int HOLD_MILLIS = 5;

    private final ReentrantLock shared = new ReentrantLock(true);
    private final Object room = new Object();
    private final Object nobody = new Object();
    /** Ties {@link System#nanoTime()} to Unix time. */
    private final long wallOffset = System.currentTimeMillis() * 1_000_000 - System.nanoTime();

    private final List<Body> bodies = new ArrayList<>();
    private volatile boolean isContended;
    private volatile boolean isTaken;
    private volatile boolean isOver;

    @Override
    public void run(Arguments arguments, Json report) {
        int millis = arguments.number(0, 800);
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= WORKERS; i++) {
            threads.add(start("worker-" + i, this::work));
        }
        threads.add(start("host", this::host));
        threads.add(start("late", this::beLate));
        List<Thread> idlers = Arrays.asList(
                Threads.start("idler-1", this::idle), Threads.start("idler-2", this::idle));

        final long quiet = now();
        Threads.sleepMillis(millis);
        final long contended = now();
        isContended = true;
        Threads.sleepMillis(millis);
        isOver = true;
        long over = now();
        Threads.join(threads);
        synchronized (nobody) {
            nobody.notifyAll();
        }
        Threads.join(idlers);

        List<Json> waits = new ArrayList<>();
        // This thread, too: it sleeps, and a sleep is no wait for anything.
        List<String> busy = new ArrayList<>(Arrays.asList("main"));
        for (Body body : bodies) {
            waits.add(new Json().put("thread", body.name).put("waits", body.waits));
            busy.add(body.name);
        }
        report.put("quiet_wall_ns", quiet)
                .put("contended_wall_ns", contended)
                .put("over_wall_ns", over)
                .put("busy", busy)
                .put("waits", waits);
    }

    private long now() {
        return System.nanoTime() + wallOffset;
    }

    private Thread start(String name, Work work) {
        Body body = new Body(name, work);
        bodies.add(body);
        return Threads.start(name, body);
    }

    private void work(Body self) {
        while (!isContended) {
            Threads.sleepMillis(1);
        }
        while (!isOver) {
            long asked = System.nanoTime();
            shared.lock();
            try {
                self.waited(asked);
                Threads.sleepMillis(HOLD_MILLIS);
            } finally {
                shared.unlock();
            }
        }
    }

    /** Has the monitor for all of the second phase. */
    private void host(Body self) {
        while (!isContended) {
            Threads.sleepMillis(1);
        }
        synchronized (room) {
            isTaken = true;
            while (!isOver) {
                Threads.sleepMillis(1);
            }
        }
    }

    private void beLate(Body self) {
        while (!isTaken) {
            Threads.sleepMillis(1);
        }
        long asked = System.nanoTime();
        synchronized (room) {
            self.waited(asked);
        }
    }

    private void idle() {
        synchronized (nobody) {
            try {
                nobody.wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** What a thread does. */
    private interface Work {
        void run(Body self);
    }

    /** A thread that is never idle, and what it measures. */
    private final class Body implements Runnable {
        private final String name;
        private final Work work;
        private final List<Long> waits = new ArrayList<>();

        Body(String name, Work work) {
            this.name = name;
            this.work = work;
        }

        /** Begins with a short idle wait: a thread that never waits for anything is in no log. */
        @Override
        public void run() {
            Object own = new Object();
            synchronized (own) {
                try {
                    own.wait(1);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            work.run(this);
        }

        void waited(long asked) {
            waits.add(asked + wallOffset);
            waits.add(System.nanoTime() - asked);
        }
    }
}
