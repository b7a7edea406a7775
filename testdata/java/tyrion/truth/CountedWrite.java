package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The write lock of a {@link ReentrantReadWriteLock}. */
final class CountedWrite extends Counted {
    private final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    private final Lock lock = both.writeLock();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        take(number % 8, tally);
        try {
            tally.alone++;
            plain++;
            if (number % 4 == 0) {
                lock.lock();
                tally.reentrant++;
                lock.unlock();
            }
        } finally {
            lock.unlock();
        }
    }

    private void take(int way, Tally tally) throws InterruptedException {
        switch (way) {
            case 1:
                lock.lockInterruptibly();
                break;
            case 2:
                while (!lock.tryLock(1, TimeUnit.HOURS)) {
                    tally.failed++;
                }
                break;
            case 3:
                if (!lock.tryLock()) {
                    tally.failed++;
                    lock.lock();
                }
                break;
            default:
                lock.lock();
        }
        tally.acquisitions++;
    }

    @Override
    boolean canFail() {
        return true;
    }

    /** Keeps a writer away by reading. */
    @Override
    void keep(Runnable whileKept, Tally tally) {
        both.readLock().lock();
        tally.acquisitions++;
        whileKept.run();
        both.readLock().unlock();
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        if (number % 2 == 0 ? lock.tryLock() : lock.tryLock(1, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
