package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** A {@link ReentrantLock}, asked for in every way there is. */
final class CountedLock extends Counted {
    private final ReentrantLock lock = new ReentrantLock();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        take(number % 8, tally);
        try {
            tally.alone++;
            plain++;
            if (number % 4 == 0) {
                takeAgain(number, tally);
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

    private void takeAgain(int number, Tally tally) {
        if (number % 8 == 0) {
            lock.lock();
        } else if (!lock.tryLock()) {
            throw new IllegalStateException("not reentrant");
        }
        tally.reentrant++;
        lock.unlock();
    }

    @Override
    boolean canFail() {
        return true;
    }

    @Override
    void keep(Runnable whileKept, Tally tally) {
        lock.lock();
        tally.acquisitions++;
        whileKept.run();
        lock.unlock();
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        boolean taken = number % 2 == 0 ? lock.tryLock() : lock.tryLock(1, TimeUnit.MILLISECONDS);
        if (taken) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
