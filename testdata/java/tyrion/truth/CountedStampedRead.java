package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;

/** A {@link StampedLock} for reading. */
final class CountedStampedRead extends Counted {
    private final StampedLock lock = new StampedLock();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        long stamp = take(number % 8);
        if (stamp == 0) {
            throw new IllegalStateException("not shared");
        }
        tally.acquisitions++;
        switch (number % 5) {
            case 0:
                lock.unlock(stamp);
                break;
            case 1:
                if (!lock.tryUnlockRead()) {
                    throw new IllegalStateException("not held");
                }
                break;
            case 2:
                lock.asReadLock().unlock();
                break;
            default:
                lock.unlockRead(stamp);
        }
    }

    private long take(int way) throws InterruptedException {
        switch (way) {
            case 1:
                return lock.readLockInterruptibly();
            case 2:
                return lock.tryReadLock();
            case 3:
                return lock.tryReadLock(1, TimeUnit.HOURS);
            default:
                return lock.readLock();
        }
    }

    @Override
    boolean canFail() {
        return true;
    }

    @Override
    void keep(Runnable whileKept, Tally tally) {
        long stamp = lock.writeLock();
        tally.acquisitions++;
        whileKept.run();
        lock.unlockWrite(stamp);
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        long stamp = number % 2 == 0
                ? lock.tryReadLock()
                : lock.tryReadLock(1, TimeUnit.MILLISECONDS);
        if (stamp != 0) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
