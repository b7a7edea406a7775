package tyrion.truth;

import java.util.concurrent.CountDownLatch;

/**
 * The body of a thread that takes a lock, keeps it until it is told to leave, or for a while, and
 * gives it back. Tells when the lock is held, so whoever asks for it then is certain to wait.
 */
final class Holder implements Runnable {
    /** How the lock is taken and given back around something. */
    interface Taking {
        void holderTakes(Runnable whileHeld);
    }

    private final Taking taking;
    private final long holdMillis;
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch mayLeave = new CountDownLatch(1);
    private long takenNanos;
    private long leavingNanos;

    /** Keeps the lock until {@link #leave}. */
    Holder(Taking taking) {
        this(0, taking);
    }

    /** Keeps the lock for a time, asleep, and then until {@link #leave}. */
    Holder(long holdMillis, Taking taking) {
        this.taking = taking;
        this.holdMillis = holdMillis;
    }

    @Override
    public void run() {
        taking.holderTakes(new Keeping());
    }

    /** Returns once the lock is held. */
    void awaitHeld() throws InterruptedException {
        held.await();
    }

    /** Lets the holder give the lock back. */
    void leave() {
        mayLeave.countDown();
    }

    /** For how long the lock was held, once the thread has ended. */
    long heldNanos() {
        return leavingNanos - takenNanos;
    }

    /** When the holder was about to give the lock back, once the thread has ended. */
    long leavingNanos() {
        return leavingNanos;
    }

    /** What the holder does with the lock. */
    private final class Keeping implements Runnable {
        @Override
        public void run() {
            takenNanos = System.nanoTime();
            held.countDown();
            Threads.sleepMillis(holdMillis);
            Threads.await(mayLeave);
            leavingNanos = System.nanoTime();
        }
    }
}
