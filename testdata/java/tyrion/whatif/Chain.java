package tyrion.whatif;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Five threads take one lock after the other: the first one is the bottleneck, and the second is
 * held nearly as long. After: the first one is gone.
 */
final class Chain implements Program {
    private final ReentrantLock first = new ReentrantLock();
    private final ReentrantLock second = new ReentrantLock();
    private final boolean isFree;

    Chain(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 5;
    }

    @Override
    public void step(Work work) throws InterruptedException {
        if (isFree) {
            order(work);
        } else {
            first.lock();
            try {
                order(work);
            } finally {
                first.unlock();
            }
        }
        second.lock();
        try {
            work.micros(20);
            Thread.sleep(1);
        } finally {
            second.unlock();
        }
    }

    private void order(Work work) throws InterruptedException {
        work.micros(40);
        Thread.sleep(2);
    }
}
