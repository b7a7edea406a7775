package tyrion.truth;

import java.util.concurrent.CountDownLatch;

/**
 * The body of a thread that takes a lock, keeps it for a while, asleep, and gives it back. Tells
 * when the lock is held, so whoever asks for it then is certain to wait.
 */
final class Holder implements Runnable {
    /** How the lock is taken and given back around something. */
    interface Taking {
        void holderTakes(Runnable whileHeld);
    }

    private final Taking taking;
    private final long holdMillis;
    private final CountDownLatch held = new CountDownLatch(1);
    private long heldNanos;

    Holder(long holdMillis, Taking taking) {
        this.holdMillis = holdMillis;
        this.taking = taking;
    }

    @Override
    public void run() {
        taking.holderTakes(new Keeping());
    }

    /** Returns once the lock is held. */
    void awaitHeld() throws InterruptedException {
        held.await();
    }

    /** For how long the lock was held, once the thread has ended. */
    long heldNanos() {
        return heldNanos;
    }

    /** What the holder does with the lock: it sleeps. */
    private final class Keeping implements Runnable {
        @Override
        public void run() {
            long taken = System.nanoTime();
            held.countDown();
            Threads.sleepMillis(holdMillis);
            heldNanos = System.nanoTime() - taken;
        }
    }
}
