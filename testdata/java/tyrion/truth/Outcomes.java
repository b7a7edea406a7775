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
 * is a wait all the same, and is no acquisition. The holder gives the lock back once the wait has
 * ended or, where it is to be granted, some time after it was seen to begin. In {@code outcomes}:
 * how long each wait took at the {@code least_ns}, and at the most, {@code wait_ns}.
 */
final class Outcomes implements Scenario {
    private static final long WAIT_MILLIS = 60;
    private static final long TIMEOUT_MILLIS = 100;
    private static final long PATIENCE_MILLIS = 60_000;

    /** An attempt to take a lock that is held: says whether it came to have it. */
    private interface Attempt {
        boolean tryIt() throws InterruptedException;
    }

    /** What ends a wait. */
    private enum End {
        GRANTED("granted"),
        TIMEOUT("timed out"),
        INTERRUPT("interrupted");

        private final String outcome;

        End(String outcome) {
            this.outcome = outcome;
        }
    }

    private final List<Json> outcomes = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        ReentrantLock kept = new ReentrantLock();
        meet("try-timeout", End.TIMEOUT, holding(kept), () -> tryFor(kept, TIMEOUT_MILLIS));

        ReentrantLock given = new ReentrantLock();
        meet("try-granted", End.GRANTED, holding(given), () -> tryFor(given, PATIENCE_MILLIS));

        ReentrantLock left = new ReentrantLock();
        meet("interrupted", End.INTERRUPT, holding(left), () -> lockInterruptibly(left));

        StampedLock stamped = new StampedLock();
        meet("stamped-timeout", End.TIMEOUT, holding(stamped), () -> tryWriteLock(stamped));

        Semaphore permits = new Semaphore(1);
        meet("semaphore-timeout", End.TIMEOUT, holding(permits), () -> tryAcquire(permits));

        report.put("contentions", outcomes.size()).put("outcomes", outcomes);
    }

    /** Makes the attempt against a holder, in a thread named after it, and measures it. */
    private void meet(String name, End end, Holder.Taking taking, Attempt attempt)
            throws InterruptedException {
        long[] asked = new long[1];
        boolean[] acquired = new boolean[1];
        boolean[] wasInterrupted = new boolean[1];
        Waiter waiter = new Waiter(() -> {
            asked[0] = System.nanoTime();
            try {
                acquired[0] = attempt.tryIt();
            } catch (InterruptedException e) {
                wasInterrupted[0] = true;
            }
            return System.nanoTime() - asked[0];
        });
        Holder holder = new Holder(taking);
        Thread holding = Threads.start("holder-of-" + name, holder);
        holder.awaitHeld();
        Thread waiting = Threads.start(name, waiter);
        // On a busy machine a wait with a time limit may be over when it is first looked at.
        final long waitingSince = end == End.TIMEOUT
                ? Threads.awaitWaitingOrEnd(waiting) : Threads.awaitWaiting(waiting);
        if (end != End.TIMEOUT) {
            Threads.sleepMillis(WAIT_MILLIS);
        }
        final long interrupted = System.nanoTime();
        if (end == End.INTERRUPT) {
            waiting.interrupt();
        }
        if (end != End.GRANTED) {
            waiting.join();
        }
        holder.leave();
        holding.join();
        waiting.join();

        long until = end == End.GRANTED ? holder.leavingNanos()
                : end == End.INTERRUPT ? interrupted
                : asked[0] + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        String how = acquired[0] ? "granted" : wasInterrupted[0] ? "interrupted" : "timed out";
        if (!how.equals(end.outcome)) {
            throw new IllegalStateException(name + " was " + how);
        }
        outcomes.add(new Json()
                .put("thread", name)
                .put("outcome", how)
                .put("acquired", acquired[0])
                // On a busy machine it may be over when it is first seen.
                .put("least_ns", Math.max(0, until - waitingSince))
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
