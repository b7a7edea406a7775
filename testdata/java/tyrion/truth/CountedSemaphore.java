package tyrion.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A {@link Semaphore} of two permits, taken both at once. */
final class CountedSemaphore extends Counted {
    private static final int ALL = 2;

    private final Semaphore permits = new Semaphore(ALL);

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        take(number % 8, tally);
        try {
            tally.alone++;
            plain++;
        } finally {
            permits.release(ALL);
        }
    }

    private void take(int way, Tally tally) throws InterruptedException {
        switch (way) {
            case 1:
                permits.acquire(ALL);
                break;
            case 2:
                while (!permits.tryAcquire(ALL, 1, TimeUnit.HOURS)) {
                    tally.failed++;
                }
                break;
            case 3:
                if (!permits.tryAcquire(ALL)) {
                    tally.failed++;
                    permits.acquireUninterruptibly(ALL);
                }
                break;
            default:
                permits.acquireUninterruptibly(ALL);
        }
        tally.acquisitions++;
    }

    @Override
    boolean canFail() {
        return true;
    }

    @Override
    void keep(Runnable whileKept, Tally tally) {
        permits.acquireUninterruptibly(ALL);
        tally.acquisitions++;
        whileKept.run();
        permits.release(ALL);
    }

    @Override
    void attempt(int number, Tally tally) throws InterruptedException {
        if (number % 2 == 0 ? permits.tryAcquire() : permits.tryAcquire(1, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("not exclusive");
        }
        tally.failed++;
    }
}
