package tyrion.truth;

import java.util.concurrent.locks.StampedLock;

/** One contention on a {@link StampedLock}: a writer waits for a reader. */
final class HolderStampedWrite extends HolderAndWaiter {
    private final StampedLock quoteLock = new StampedLock();

    @Override
    public void holderTakes(Runnable whileHeld) {
        long stamp = quoteLock.readLock();
        try {
            whileHeld.run();
        } finally {
            quoteLock.unlockRead(stamp);
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        long stamp = quoteLock.writeLock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            quoteLock.unlockWrite(stamp);
        }
    }
}
