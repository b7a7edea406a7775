package tyrion.truth;

/**
 * One contention on the monitor of a class, of a static synchronized method. The JVM puts the wait
 * on its first line.
 */
final class HolderStatic extends HolderAndWaiter {
    /** Its {@code Class} object is the lock. */
    private static final class Vault {
        static synchronized void keepOpen(Runnable whileHeld) {
            whileHeld.run();
        }

        static synchronized long enteredAtNanos() {
            return System.nanoTime(); // WAIT
        }
    }

    @Override
    public void holderTakes(Runnable whileHeld) {
        Vault.keepOpen(whileHeld);
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        return Vault.enteredAtNanos() - asked;
    }
}
