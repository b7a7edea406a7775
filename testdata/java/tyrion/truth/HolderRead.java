package tyrion.truth;

import java.util.concurrent.locks.ReentrantReadWriteLock;

/** One contention on a {@link ReentrantReadWriteLock}: a reader waits for a writer. */
final class HolderRead extends HolderAndWaiter {
    private final ReentrantReadWriteLock ledgerLock = new ReentrantReadWriteLock();

    @Override
    public void holderTakes(Runnable whileHeld) {
        ledgerLock.writeLock().lock();
        try {
            whileHeld.run();
        } finally {
            ledgerLock.writeLock().unlock();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        ledgerLock.readLock().lock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            ledgerLock.readLock().unlock();
        }
    }
}
