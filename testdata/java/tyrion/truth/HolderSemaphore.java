package tyrion.truth;

import java.util.concurrent.Semaphore;

/** One contention on a {@link Semaphore} with one permit, so it is a lock. */
final class HolderSemaphore extends HolderAndWaiter {
    private final Semaphore permits = new Semaphore(1);

    @Override
    public void holderTakes(Runnable whileHeld) {
        permits.acquireUninterruptibly();
        try {
            whileHeld.run();
        } finally {
            permits.release();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        permits.acquireUninterruptibly(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            permits.release();
        }
    }
}
