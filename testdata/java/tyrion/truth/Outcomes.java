package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Json;

/**
 * Waits that end in every way: granted, timed out, interrupted. A wait that ends without the lock
 * is a wait all the same, and is no acquisition.
 */
final class Outcomes implements Scenario {
    private static final long LONG_HOLD_MILLIS = 200;
    private static final long SHORT_HOLD_MILLIS = 80;
    private static final long INTERRUPT_MILLIS = 60;
    private static final long TIMEOUT_MILLIS = 50;

    /** An attempt to take a lock that is held: says whether it came to have it. */
    private interface Attempt {
        boolean tryIt() throws InterruptedException;
    }

    private final List<Json> outcomes = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        ReentrantLock kept = new ReentrantLock();
        meet("try-timeout", LONG_HOLD_MILLIS, holding(kept), () -> tryFor(kept, TIMEOUT_MILLIS));

        ReentrantLock given = new ReentrantLock();
        meet("try-granted", SHORT_HOLD_MILLIS, holding(given), () -> tryFor(given, 1000));

        ReentrantLock left = new ReentrantLock();
        meet("interrupted", LONG_HOLD_MILLIS, holding(left), () -> lockInterruptibly(left));

        StampedLock stamped = new StampedLock();
        meet("stamped-timeout", LONG_HOLD_MILLIS, holding(stamped), () -> tryWriteLock(stamped));

        Semaphore permits = new Semaphore(1);
        meet("semaphore-timeout", LONG_HOLD_MILLIS, holding(permits), () -> tryAcquire(permits));

        report.put("contentions", outcomes.size()).put("outcomes", outcomes);
    }

    /** Makes the attempt against a holder, in a thread named after it, and measures it. */
    private void meet(String name, long holdMillis, Holder.Taking taking, Attempt attempt)
            throws InterruptedException {
        boolean[] acquired = new boolean[1];
        boolean[] wasInterrupted = new boolean[1];
        Waiter waiter = new Waiter(() -> {
            long asked = System.nanoTime();
            try {
                acquired[0] = attempt.tryIt();
            } catch (InterruptedException e) {
                wasInterrupted[0] = true;
            }
            return System.nanoTime() - asked;
        });
        Encounter.stage(
                new Holder(holdMillis, taking),
                Threads.named("holder-of-" + name),
                0,
                waiter,
                Threads.named(name));
        String how = acquired[0] ? "granted" : wasInterrupted[0] ? "interrupted" : "timed out";
        outcomes.add(new Json()
                .put("thread", name)
                .put("outcome", how)
                .put("acquired", acquired[0])
                .put("wait_ns", waiter.waitNanos()));
    }

    private static boolean tryFor(ReentrantLock lock, long millis) throws InterruptedException {
        boolean acquired = lock.tryLock(millis, TimeUnit.MILLISECONDS); // WAIT
        if (acquired) {
            lock.unlock();
        }
        return acquired;
    }

    private static boolean lockInterruptibly(ReentrantLock lock) throws InterruptedException {
        Thread waiting = Thread.currentThread();
        Threads.start("interrupter", () -> {
            Threads.sleepMillis(INTERRUPT_MILLIS);
            waiting.interrupt();
        });
        lock.lockInterruptibly(); // WAIT
        lock.unlock();
        return true;
    }

    private static boolean tryWriteLock(StampedLock lock) throws InterruptedException {
        long stamp = lock.tryWriteLock(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        if (stamp != 0) {
            lock.unlockWrite(stamp);
        }
        return stamp != 0;
    }

    private static boolean tryAcquire(Semaphore permits) throws InterruptedException {
        boolean acquired = permits.tryAcquire(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        if (acquired) {
            permits.release();
        }
        return acquired;
    }

    private static Holder.Taking holding(ReentrantLock lock) {
        return whileHeld -> {
            lock.lock();
            try {
                whileHeld.run();
            } finally {
                lock.unlock();
            }
        };
    }

    private static Holder.Taking holding(StampedLock lock) {
        return whileHeld -> {
            long stamp = lock.writeLock();
            try {
                whileHeld.run();
            } finally {
                lock.unlockWrite(stamp);
            }
        };
    }

    private static Holder.Taking holding(Semaphore permits) {
        return whileHeld -> {
            permits.acquireUninterruptibly();
            try {
                whileHeld.run();
            } finally {
                permits.release();
            }
        };
    }
}
