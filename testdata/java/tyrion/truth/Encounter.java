package tyrion.truth;

import java.util.concurrent.ThreadFactory;

/**
 * Two threads and a lock: one holds it, the other comes and waits. However late either of them gets
 * a processor there is exactly one contention, since the holder leaves only after the other one was
 * seen to wait.
 */
final class Encounter {
    private Encounter() {}

    /**
     * Lets the waiter wait for some time at least, and returns when both threads have ended: for how
     * long, in nanoseconds, the waiter waited at the least. At the most it is what the waiter itself
     * has measured.
     */
    static long stage(
            Holder holder,
            ThreadFactory holderThread,
            long waitMillis,
            Waiter waiter,
            ThreadFactory waiterThread)
            throws InterruptedException {
        Thread holding = holderThread.newThread(holder);
        Thread waiting = waiterThread.newThread(waiter);
        holding.start();
        holder.awaitHeld();
        waiting.start();
        long waitingSince = Threads.awaitWaiting(waiting);
        Threads.sleepMillis(waitMillis);
        holder.leave();
        holding.join();
        waiting.join();
        return holder.leavingNanos() - waitingSince;
    }
}
