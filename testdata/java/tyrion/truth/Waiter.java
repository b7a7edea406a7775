package tyrion.truth;

import tyrion.support.Jvm;

/** The body of a thread that asks for a lock once, and measures how long it waits for it. */
final class Waiter implements Runnable {
    /** How the lock is asked for, taken and given back: returns the wait in nanoseconds. */
    interface Asking {
        long waiterTakes();
    }

    private final Asking asking;
    private long waitNanos;
    private long blockedCount;

    Waiter(Asking asking) {
        this.asking = asking;
        // Loads what the waiting thread uses: it must wait for the one lock and nothing else.
        Jvm.blockedCount(Thread.currentThread());
        System.nanoTime();
    }

    @Override
    public void run() {
        waitNanos = asking.waiterTakes();
        blockedCount = Jvm.blockedCount();
    }

    /** How long the lock was waited for, once the thread has ended. */
    long waitNanos() {
        return waitNanos;
    }

    /** How often the JVM saw the thread block on a monitor, once the thread has ended. */
    long blockedCount() {
        return blockedCount;
    }
}
