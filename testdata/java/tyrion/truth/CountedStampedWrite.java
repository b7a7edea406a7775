package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;

/** A {@link StampedLock} for writing, asked for and given back in every way there is. */
final class CountedStampedWrite extends Counted {
    private final StampedLock lock = new StampedLock();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        long stamp = take(number % 8, tally);
        tally.alone++;
        plain++;
        switch (number % 5) {
            case 0:
                lock.unlock(stamp);
                break;
            case 1:
                if (!lock.tryUnlockWrite()) {
                    throw new IllegalStateException("not held");
                }
                break;
            case 2:
                lock.asWriteLock().unlock();
                break;
            default:
                lock.unlockWrite(stamp);
        }
    }

    private long take(int way, Tally tally) throws InterruptedException {
        long stamp = 0;
        switch (way) {
            case 1:
                stamp = lock.writeLockInterruptibly();
                break;
            case 2:
                while (stamp == 0) {
                    stamp = lock.tryWriteLock(1, TimeUnit.HOURS);
                    tally.failed += stamp == 0 ? 1 : 0;
                }
                break;
            case 3:
                stamp = lock.tryWriteLock();
                if (stamp == 0) {
                    tally.failed++;
                    stamp = lock.writeLock();
                }
                break;
            default:
                stamp = lock.writeLock();
        }
        tally.acquisitions++;
        return stamp;
    }

    @Override
    boolean canFail() {
        return true;
    }

    @Override
    void keep(Runnable whileKept, Tally tally) {
        long stamp = lock.readLock();
        tally.acquisitions++;
        whileKept.run();
        lock.unlockRead(stamp);
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        long stamp = number % 2 == 0
                ? lock.tryWriteLock()
                : lock.tryWriteLock(1, TimeUnit.MILLISECONDS);
        if (stamp != 0) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
