package tyrion.whatif;

/**
 * Four threads post to one ledger, whose monitor they hold for most of each operation. After: there
 * is no monitor.
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
        if (isFree) {
            post(work);
        } else {
            synchronized (lock) {
                post(work);
            }
        }
    }

    private static void post(Work work) {
        work.micros(75);
    }
}
