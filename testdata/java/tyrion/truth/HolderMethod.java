package tyrion.truth;

/**
 * One contention on a monitor, of a synchronized method. The JVM puts the wait on its first line.
 */
final class HolderMethod extends HolderAndWaiter {
    /** The lock, with its synchronized methods. */
    private static final class Vault {
        synchronized void keepOpen(Runnable whileHeld) {
            whileHeld.run();
        }

        synchronized long enteredAtNanos() {
            return System.nanoTime(); // WAIT
        }
    }

    private final Vault vault = new Vault();

    @Override
    public void holderTakes(Runnable whileHeld) {
        vault.keepOpen(whileHeld);
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        return vault.enteredAtNanos() - asked;
    }
}
