package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code deadlock KIND [OTHERS]}: threads "left" and "right" take one lock each and then ask for
 * the other's: both wait for ever, and so does the JVM, until it is killed. KIND is {@code
 * monitor}, {@code lock} or {@code mixed}: "left" has a monitor then, and "right" a lock. With
 * {@code all} there is one of each, and "left" is "left-monitor" and so on. Prints the JSON object
 * and then "deadlocked", once the JVM itself sees the deadlock.
 *
 * <p>With {@code others} as OTHERS three more threads wait, and are in no deadlock: "bystander" for
 * what "left" has, "patient" for a monitor that "sleeper" has, and "idle" for nobody.
 */
final class Deadlock implements Scenario {
    private final CountDownLatch bothHold = new CountDownLatch(2);
    /** What the names of the threads end in. */
    private String suffix = "";

    @Override
    public void run(Arguments arguments, Json report) {
        String kind = arguments.text(0, "monitor");
        boolean hasOthers = arguments.text(1, "").equals("others");
        List<String> threads = new ArrayList<>();
        if (kind.equals("all")) {
            for (String each : Arrays.asList("monitor", "lock", "mixed")) {
                Deadlock deadlock = new Deadlock();
                deadlock.suffix = "-" + each;
                deadlock.stage(each, hasOthers, threads);
            }
        } else {
            stage(kind, hasOthers, threads);
        }
        long[] seen = Jvm.deadlockedThreads();
        while (seen == null || seen.length < threads.size()) {
            Threads.sleepMillis(10);
            seen = Jvm.deadlockedThreads();
        }
        report.put("kind", kind).put("threads", threads);
        System.out.println(report);
        System.out.println("deadlocked");
        System.out.flush();
        Threads.sleepForever();
    }

    private void stage(String kind, boolean hasOthers, List<String> threads) {
        if (kind.equals("mixed")) {
            Fork monitor = new Fork();
            ReentrantLock lock = new ReentrantLock();
            start("left", () -> enterAndLock(monitor, lock));
            start("right", () -> lockAndEnter(lock, monitor));
            startOthers(hasOthers, () -> enter(monitor));
        } else if (kind.equals("lock")) {
            ReentrantLock first = new ReentrantLock();
            ReentrantLock second = new ReentrantLock();
            start("left", () -> lockBothLocks(first, second));
            start("right", () -> lockBothLocks(second, first));
            startOthers(hasOthers, () -> take(first));
        } else {
            Fork first = new Fork();
            Fork second = new Fork();
            start("left", () -> enterBothMonitors(first, second));
            start("right", () -> enterBothMonitors(second, first));
            startOthers(hasOthers, () -> enter(first));
        }
        threads.addAll(Arrays.asList("left" + suffix, "right" + suffix));
    }

    private Thread start(String name, Runnable body) {
        return Threads.start(name + suffix, body);
    }

    /** The class of the monitors, for a report to name. */
    private static final class Fork {}

    /** The class of a monitor that is in no deadlock. */
    private static final class Bed {}

    /** Starts those that are in no deadlock, and returns when they wait. */
    private void startOthers(boolean wanted, Runnable askLeft) {
        if (!wanted) {
            return;
        }
        Bed bed = new Bed();
        CountDownLatch isTaken = new CountDownLatch(1);
        Thread sleeper = start("sleeper", () -> sleepIn(bed, isTaken));
        await(isTaken);
        await(bothHold);
        List<Thread> others = Arrays.asList(
                start("patient", () -> enter(bed)),
                start("bystander", askLeft),
                start("idle", Deadlock::waitForNobody));
        while (others.stream().anyMatch(Deadlock::isRunning) || !sleeper.isAlive()) {
            Threads.sleepMillis(1);
        }
    }

    private static boolean isRunning(Thread thread) {
        return thread.getState() == Thread.State.NEW || thread.getState() == Thread.State.RUNNABLE;
    }

    private static void sleepIn(Bed bed, CountDownLatch isTaken) {
        synchronized (bed) {
            isTaken.countDown();
            Threads.sleepForever();
        }
    }

    private static void waitForNobody() {
        Object nobody = new Object();
        synchronized (nobody) {
            try {
                nobody.wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void enter(Object monitor) {
        synchronized (monitor) {
            throw new IllegalStateException("it was free");
        }
    }

    private static void take(ReentrantLock lock) {
        lock.lock();
        throw new IllegalStateException("it was free");
    }

    private void enterAndLock(Fork own, ReentrantLock others) {
        synchronized (own) {
            awaitOther();
            others.lock();
            throw new IllegalStateException("no deadlock");
        }
    }

    private void lockAndEnter(ReentrantLock own, Fork others) {
        own.lock();
        awaitOther();
        synchronized (others) {
            throw new IllegalStateException("no deadlock");
        }
    }

    private void enterBothMonitors(Fork own, Fork others) {
        synchronized (own) {
            awaitOther();
            synchronized (others) { // WAIT
                throw new IllegalStateException("no deadlock");
            }
        }
    }

    private void lockBothLocks(ReentrantLock own, ReentrantLock others) {
        own.lock();
        awaitOther();
        others.lock(); // WAIT
        throw new IllegalStateException("no deadlock");
    }

    private void awaitOther() {
        bothHold.countDown();
        await(bothHold);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
