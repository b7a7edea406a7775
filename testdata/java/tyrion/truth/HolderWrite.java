package tyrion.truth;

import java.util.concurrent.locks.ReentrantReadWriteLock;

/** One contention on a {@link ReentrantReadWriteLock}: a writer waits for a reader. */
final class HolderWrite extends HolderAndWaiter {
    private final ReentrantReadWriteLock ledgerLock = new ReentrantReadWriteLock();

    @Override
    public void holderTakes(Runnable whileHeld) {
        ledgerLock.readLock().lock();
        try {
            whileHeld.run();
        } finally {
            ledgerLock.readLock().unlock();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        ledgerLock.writeLock().lock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            ledgerLock.writeLock().unlock();
        }
    }
}
