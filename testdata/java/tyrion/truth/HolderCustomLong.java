package tyrion.truth;

/** One contention on a lock of the program's own, made of an AbstractQueuedLongSynchronizer. */
final class HolderCustomLong extends HolderAndWaiter {
    private final LongMutex mutex = new LongMutex();

    @Override
    public void holderTakes(Runnable whileHeld) {
        mutex.lock();
        try {
            whileHeld.run();
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        mutex.lock(); // WAIT
        try {
            return System.nanoTime() - asked;
        } finally {
            mutex.unlock();
        }
    }
}
