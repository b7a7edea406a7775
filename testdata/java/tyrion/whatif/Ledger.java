package tyrion.whatif;

/**
 * Four threads post to one ledger, whose monitor they hold for most of each operation. After: each
 * entry has a lock of its own, so nobody waits.
 */
final class Ledger implements Program {
    private final Object lock = new Object();
    private final boolean isFree;

    Ledger(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 4;
    }

    @Override
    public void step(Work work) {
        work.micros(25);
        synchronized (isFree ? work : lock) {
            work.micros(75);
        }
    }
}
