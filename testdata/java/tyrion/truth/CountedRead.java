package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The read lock of a {@link ReentrantReadWriteLock}: all threads have it at once. */
final class CountedRead extends Counted {
    private final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    private final Lock lock = both.readLock();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        take(number % 8);
        tally.acquisitions++;
        try {
            if (number % 4 == 0) {
                lock.lock();
                tally.reentrant++;
                lock.unlock();
            }
        } finally {
            lock.unlock();
        }
    }

    private void take(int way) throws InterruptedException {
        switch (way) {
            case 1:
                lock.lockInterruptibly();
                break;
            case 2:
            case 3:
                // Nobody writes, so both succeed.
                if (!(way == 2 ? lock.tryLock() : lock.tryLock(1, TimeUnit.HOURS))) {
                    throw new IllegalStateException("not shared");
                }
                break;
            default:
                lock.lock();
        }
    }

    @Override
    boolean canFail() {
        return true;
    }

    @Override
    void keep(Runnable whileKept, Tally tally) {
        both.writeLock().lock();
        tally.acquisitions++;
        whileKept.run();
        both.writeLock().unlock();
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        if (number % 2 == 0 ? lock.tryLock() : lock.tryLock(1, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
