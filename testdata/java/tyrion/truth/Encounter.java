package tyrion.truth;

import java.util.concurrent.ThreadFactory;

/**
 * Two threads and a lock: one holds it, the other comes later and waits. Exactly one contention, of
 * the time held less the head start.
 */
final class Encounter {
    private Encounter() {}

    /**
     * Lets the waiter come when the lock has been held for the head start, and returns when both
     * threads have ended.
     */
    static void stage(
            Holder holder,
            ThreadFactory holderThread,
            long headStartMillis,
            Waiter waiter,
            ThreadFactory waiterThread)
            throws InterruptedException {
        Thread holding = holderThread.newThread(holder);
        Thread waiting = waiterThread.newThread(waiter);
        holding.start();
        holder.awaitHeld();
        Threads.sleepMillis(headStartMillis);
        waiting.start();
        holding.join();
        waiting.join();
    }
}
