package tyrion.whatif;

/**
 * Two threads that meet at a monitor for a part of their time: the lock is waited for often, but
 * little is lost. After: it is gone.
 */
final class Pair implements Program {
    private final Object lock = new Object();
    private final boolean isFree;

    Pair(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 2;
    }

    @Override
    public void step(Work work) {
        work.micros(120 + work.below(60));
        if (isFree) {
            meet(work);
        } else {
            synchronized (lock) {
                meet(work);
            }
        }
    }

    private static void meet(Work work) {
        work.micros(50);
    }
}
