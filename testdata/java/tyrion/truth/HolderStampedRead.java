package tyrion.truth;

import java.util.concurrent.locks.StampedLock;

/** One contention on a {@link StampedLock}: a reader waits for a writer. */
final class HolderStampedRead extends HolderAndWaiter {
    private final StampedLock quoteLock = new StampedLock();

    @Override
    public void holderTakes(Runnable whileHeld) {
        long stamp = quoteLock.writeLock();
        try {
            whileHeld.run();
        } finally {
            quoteLock.unlockWrite(stamp);
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        long stamp = quoteLock.readLock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            quoteLock.unlockRead(stamp);
        }
    }
}
