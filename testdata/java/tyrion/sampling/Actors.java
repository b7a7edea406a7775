package tyrion.sampling;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The threads, but for that of the pool. Their cycles are about 400 ms long; where one goes on for
 * longer on a busy machine, what it measures is true all the same. No more than two compute at a
 * time.
 */
final class Actors {
    private Actors() {}

    /** Computes in two methods, in the proportion of two to one, and sleeps. */
    static final class Computing extends Actor {
        private final Stage stage;

        Computing(Stage stage) {
            super("worker-1");
            this.stage = stage;
        }

        @Override
        void live() throws InterruptedException {
            while (!stage.isOver) {
                Activity activity = begin("heavy", "running");
                heavy();
                end(activity);
                activity = begin("light", "running");
                light();
                end(activity);
                activity = begin("sleeping", "sleeping");
                sleeping();
                end(activity);
            }
        }

        private void heavy() {
            Cpu.burn(140);
        }

        private void light() {
            Cpu.burn(70);
        }

        private void sleeping() throws InterruptedException {
            Thread.sleep(190);
        }
    }

    /** Computes, parks, and waits for nobody. */
    static final class Waiting extends Actor {
        private final Stage stage;
        private final Object nobody = new Object();
        private final ReentrantLock own = new ReentrantLock();
        private final Condition never = own.newCondition();

        Waiting(Stage stage) {
            super("worker-2");
            this.stage = stage;
        }

        @Override
        void live() throws InterruptedException {
            while (!stage.isOver) {
                Activity activity = begin("computing", "running");
                computing();
                end(activity);
                activity = begin("parking", "parked");
                parking(100);
                end(activity);
                activity = begin("waiting", "waiting");
                waiting();
                end(activity);
                activity = begin("awaiting", "parked");
                awaiting(90);
                end(activity);
            }
        }

        private void computing() {
            Cpu.burn(70);
        }

        /** Parks again until the time is up: a park may end for no reason. */
        private void parking(int millis) {
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
            for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        private void waiting() throws InterruptedException {
            synchronized (nobody) {
                nobody.wait(140);
            }
        }

        private void awaiting(int millis) throws InterruptedException {
            own.lock();
            try {
                long left = TimeUnit.MILLISECONDS.toNanos(millis);
                while (left > 0) {
                    left = never.awaitNanos(left);
                }
            } finally {
                own.unlock();
            }
        }
    }

    /** Comes for the monitor while the keeper sleeps with it. */
    static final class Blocked extends Actor {
        private final Stage stage;
        private int visits;

        Blocked(Stage stage) {
            super("worker-3");
            this.stage = stage;
        }

        @Override
        void live() throws InterruptedException {
            while (!stage.isOver) {
                Activity activity = begin("entering", "blocked");
                entering();
                end(activity);
                activity = begin("napping", "sleeping");
                napping();
                end(activity);
            }
        }

        private void entering() {
            synchronized (stage.monitor) {
                visits++;
            }
        }

        private void napping() throws InterruptedException {
            Thread.sleep(280);
        }
    }

    /** Comes for the lock while the keeper sleeps with it. */
    static final class Locked extends Actor {
        private final Stage stage;
        private int visits;

        Locked(Stage stage) {
            super("worker-4");
            this.stage = stage;
        }

        @Override
        void live() throws InterruptedException {
            while (!stage.isOver) {
                Activity activity = begin("locking", "blocked");
                locking();
                end(activity);
                activity = begin("pausing", "sleeping");
                pausing();
                end(activity);
            }
        }

        private void locking() {
            stage.lock.lock();
            try {
                visits++;
            } finally {
                stage.lock.unlock();
            }
        }

        private void pausing() throws InterruptedException {
            Thread.sleep(300);
        }
    }

    /** Sleeps with the monitor, with the lock, and with nothing; gives the others work. */
    static final class Keeper extends Actor {
        private final Stage stage;

        Keeper(Stage stage) {
            super("keeper-1");
            this.stage = stage;
        }

        @Override
        void live() throws Exception {
            while (!stage.isOver) {
                Activity activity = begin("keepingMonitor", "sleeping");
                keepingMonitor();
                end(activity);
                activity = begin("keepingLock", "sleeping");
                keepingLock();
                end(activity);
                activity = begin("resting", "sleeping");
                resting();
                end(activity);
                giveWork();
            }
        }

        private void keepingMonitor() throws InterruptedException {
            synchronized (stage.monitor) {
                Thread.sleep(200);
            }
        }

        private void keepingLock() throws InterruptedException {
            stage.lock.lock();
            try {
                Thread.sleep(120);
            } finally {
                stage.lock.unlock();
            }
        }

        private void resting() throws InterruptedException {
            Thread.sleep(80);
        }

        private void giveWork() throws IOException {
            stage.far.getOutputStream().write(1);
            stage.tasks.execute(new Pool.Task(120));
            stage.selector.wakeup();
        }
    }

    /** Reads from a socket what the keeper writes. */
    static final class Reader extends Actor {
        private final Stage stage;

        Reader(Stage stage) {
            super("reader-1");
            this.stage = stage;
        }

        @Override
        void live() throws Exception {
            int read = 0;
            while (read >= 0) {
                Activity activity = begin("reading", "native");
                read = reading();
                end(activity);
                activity = begin("digesting", "sleeping");
                digesting();
                end(activity);
            }
        }

        private int reading() throws IOException {
            return stage.near.getInputStream().read();
        }

        private void digesting() throws InterruptedException {
            Thread.sleep(100);
        }
    }

    /** Waits at a selector, and then for an object. */
    static final class Selecting extends Actor {
        private final Stage stage;
        private final Object nobody = new Object();

        Selecting(Stage stage) {
            super("selector-1");
            this.stage = stage;
        }

        @Override
        void live() throws Exception {
            while (!stage.isOver) {
                Activity activity = begin("selecting", "idle");
                selecting();
                end(activity);
                activity = begin("handling", "waiting");
                handling();
                end(activity);
            }
        }

        private void selecting() throws IOException {
            stage.selector.select();
        }

        private void handling() throws InterruptedException {
            synchronized (nobody) {
                nobody.wait(100);
            }
        }
    }
}
