package tyrion.truth;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code deadlock KIND}: threads "left" and "right" take one lock each and then ask for the
 * other's: both wait for ever, and so does the JVM, until it is killed. KIND is {@code monitor} or
 * {@code lock}. Prints the JSON object and then "deadlocked", once the JVM itself sees the
 * deadlock.
 */
final class Deadlock implements Scenario {
    private final CountDownLatch bothHold = new CountDownLatch(2);

    @Override
    public void run(Arguments arguments, Json report) {
        String kind = arguments.text(0, "monitor");
        if (kind.equals("lock")) {
            ReentrantLock first = new ReentrantLock();
            ReentrantLock second = new ReentrantLock();
            Threads.start("left", () -> lockBothLocks(first, second));
            Threads.start("right", () -> lockBothLocks(second, first));
        } else {
            Fork first = new Fork();
            Fork second = new Fork();
            Threads.start("left", () -> enterBothMonitors(first, second));
            Threads.start("right", () -> enterBothMonitors(second, first));
        }
        while (Jvm.deadlockedThreads() == null) {
            Threads.sleepMillis(10);
        }
        report.put("kind", kind).put("threads", Arrays.asList("left", "right"));
        System.out.println(report);
        System.out.println("deadlocked");
        System.out.flush();
        Threads.sleepForever();
    }

    /** The class of the monitors, for a report to name. */
    private static final class Fork {}

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
        try {
            bothHold.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
