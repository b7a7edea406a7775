package tyrion.selfcheck;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;

/** Whether a lock is held, as its own thread says and as another one finds. */
final class Locked {
    /** Long enough for a busy machine; what is right is seen at once. */
    private static final long PATIENCE_SECONDS = 20;

    private static final long SHORT_MILLIS = 20;

    private Locked() {}

    static void check(boolean right, String what) {
        if (!right) {
            throw new SelfCheck.Wrong(what);
        }
    }

    /** This thread has the monitor, and no other gets it. */
    static void held(Object monitor, String what) {
        check(Thread.holdsLock(monitor), what + ": not held");
        check(!othersGet(monitor, SHORT_MILLIS, TimeUnit.MILLISECONDS), what + ": not exclusive");
    }

    /** This thread has the monitor; others are not asked. */
    static void has(Object monitor, String what) {
        check(Thread.holdsLock(monitor), what + ": not held");
    }

    /** This thread does not have the monitor, and another one gets it. */
    static void free(Object monitor, String what) {
        check(!Thread.holdsLock(monitor), what + ": still held");
        check(othersGet(monitor, PATIENCE_SECONDS, TimeUnit.SECONDS), what + ": not released");
    }

    /** As {@link #free}, of a lock. */
    static void free(Lock lock, String what) {
        check(otherDoes(() -> {
            lock.lock();
            lock.unlock();
        }, PATIENCE_SECONDS, TimeUnit.SECONDS), what + ": not released");
    }

    private static boolean othersGet(Object monitor, long time, TimeUnit unit) {
        return otherDoes(() -> {
            synchronized (monitor) {
                check(Thread.holdsLock(monitor), "another thread does not hold what it entered");
            }
        }, time, unit);
    }

    /** Whether another thread gets something done in time. */
    static boolean otherDoes(Runnable what, long time, TimeUnit unit) {
        FutureTask<Void> task = new FutureTask<>(what, null);
        Thread other = new Thread(task, "other");
        other.setDaemon(true);
        other.start();
        try {
            task.get(time, unit);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs something that must throw, and gives what it threw. */
    static Throwable thrownBy(Runnable what) {
        try {
            what.run();
        } catch (Throwable thrown) {
            return thrown;
        }
        throw new SelfCheck.Wrong("nothing was thrown");
    }
}
