package tyrion.whatif;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Sixteen threads that compute on two processors, under a lock that is in use most of the time.
 * After: the lock is gone, and the processors are the limit as before.
 */
final class Market implements Program {
    private final ReentrantLock lock = new ReentrantLock();
    private final boolean isFree;

    Market(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 16;
    }

    @Override
    public void step(Work work) {
        work.micros(120);
        if (isFree) {
            work.micros(80);
            return;
        }
        lock.lock();
        try {
            work.micros(80);
        } finally {
            lock.unlock();
        }
    }
}
