package tyrion.truth;

/** One contention on a monitor, of a synchronized block. */
final class HolderMonitor extends HolderAndWaiter {
    /** The class of the lock, for a report to name. */
    private static final class Vault {}

    private final Vault vault = new Vault();

    @Override
    public void holderTakes(Runnable whileHeld) {
        synchronized (vault) {
            whileHeld.run();
        }
    }

    @Override
    public long waiterTakes() {
        long asked = System.nanoTime();
        synchronized (vault) { // WAIT
            return System.nanoTime() - asked;
        }
    }
}
