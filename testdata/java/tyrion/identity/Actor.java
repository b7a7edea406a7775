package tyrion.identity;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;

/** A thread that keeps a lock until it is told to leave it, or waits for one. */
final class Actor extends Thread {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** How often a condition is looked at before the processor is given to others for longer. */
    private static final int LOOKS = 300;

    /** Leaves what the thread is in: every lock on the way is released. */
    private static final class Left extends RuntimeException {
        private static final long serialVersionUID = 1;

        Left() {
            super(null, null, false, false);
        }
    }

    private final Runnable body;
    private final int keeps;
    private volatile Object wants;
    private volatile Object held;
    private volatile boolean released;
    private volatile int met;
    private volatile Throwable failed;

    /**
     * Keeps the lock of the place {@code keeps}, 0 for the first one, if it does not want one that
     * another thread has.
     */
    Actor(String name, Runnable body, int keeps, Object wants) {
        super(name);
        setDaemon(true);
        this.body = body;
        this.keeps = keeps;
        this.wants = wants;
    }

    @Override
    public void run() {
        try {
            body.run();
        } catch (Left left) {
            // As it was meant to.
        } catch (Throwable e) {
            failed = e;
        }
    }

    void at(Object lock, int place) {
        if (wants != null) {
            if (lock == wants && met == 0) {
                met = place;
            }
        } else if (held == null && (keeps == 0 || keeps == place)) {
            held = lock;
            await(() -> released);
            throw new Left();
        }
    }

    /** The lock that it keeps, once it has it. */
    Object awaitHeld() {
        await(() -> held != null || hasEnded("kept no lock"));
        return held;
    }

    /** Returns once it was seen to wait for the lock that it wants. */
    void awaitQueued() {
        await(() -> isQueued() || hasEnded("did not wait"));
    }

    /** Returns once it was seen in {@code Object.wait} of the lock that it wants. */
    void awaitWaiting() {
        await(() -> (isIn(State.WAITING) && isShownAt(wants)) || hasEnded("did not wait"));
    }

    void release() {
        released = true;
    }

    void end() {
        try {
            join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (failed != null) {
            throw new IllegalStateException(getName(), failed);
        }
    }

    /** The place at which it took the lock that it wanted. */
    int met() {
        if (met == 0) {
            throw new IllegalStateException(getName() + " did not say where it waited");
        }
        return met;
    }

    /** The same, while it goes on. */
    int awaitMet() {
        await(() -> met != 0 || hasEnded("did not say where it waited"));
        return met;
    }

    /** It will wait for another lock. */
    void want(Object lock) {
        met = 0;
        wants = lock;
    }

    private boolean isQueued() {
        if (wants instanceof ReentrantLock) {
            return isParked() && ((ReentrantLock) wants).hasQueuedThread(this);
        }
        if (wants instanceof ReentrantReadWriteLock) {
            return isParked() && ((ReentrantReadWriteLock) wants).hasQueuedThread(this);
        }
        if (wants instanceof Semaphore) {
            return isParked() && ((Semaphore) wants).hasQueuedThreads();
        }
        return isIn(State.BLOCKED) && isShownAt(wants);
    }

    private boolean isParked() {
        return isIn(State.WAITING) || isIn(State.TIMED_WAITING);
    }

    private boolean isIn(State state) {
        return getState() == state;
    }

    private boolean isShownAt(Object lock) {
        @SuppressWarnings("deprecation")
        ThreadInfo info = THREADS.getThreadInfo(getId());
        LockInfo shown = info == null ? null : info.getLockInfo();
        return shown != null && shown.getIdentityHashCode() == System.identityHashCode(lock);
    }

    private boolean hasEnded(String how) {
        if (failed != null || (isIn(State.TERMINATED) && held == null && met == 0)) {
            throw new IllegalStateException(getName() + " has ended and " + how, failed);
        }
        if (isIn(State.TERMINATED)) {
            throw new IllegalStateException(getName() + " has ended too soon");
        }
        return false;
    }

    /** Looks again and again. */
    static void await(BooleanSupplier condition) {
        for (int looks = 0; !condition.getAsBoolean(); looks++) {
            if (looks < LOOKS) {
                Thread.yield();
            } else {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }
}
