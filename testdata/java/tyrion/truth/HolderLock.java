package tyrion.truth;

import java.util.concurrent.locks.ReentrantLock;

/** One contention on a {@link ReentrantLock}. */
final class HolderLock extends HolderAndWaiter {
    private final ReentrantLock vaultLock = new ReentrantLock();

    @Override
    public void holderTakes(Runnable whileHeld) {
        vaultLock.lock();
        try {
            whileHeld.run();
        } finally {
            vaultLock.unlock();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        vaultLock.lock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            vaultLock.unlock();
        }
    }
}
