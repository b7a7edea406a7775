package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** As {@link CountedWaits}, with a condition. */
final class CountedAwait extends Counted {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition condition = lock.newCondition();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        lock.lock();
        try {
            tally.acquisitions++;
            tally.alone++;
            plain++;
            if (number % 2048 == 1) {
                condition.await(1, TimeUnit.MILLISECONDS);
            } else if (number % 2048 == 2) {
                awaitTwiceLocked(tally);
            } else if (number % 512 == 3) {
                condition.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void awaitTwiceLocked(Tally tally) throws InterruptedException {
        lock.lock();
        try {
            tally.reentrant++;
            condition.awaitNanos(1_000_000);
        } finally {
            lock.unlock();
        }
    }
}
