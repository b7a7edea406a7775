package tyrion.whatif;

/**
 * Eight threads that compute on two processors, a fifth of the time with a monitor: it is waited
 * for, since its owner has lost its processor. After: nobody waits, and the processors are as busy
 * as before.
 */
final class Crowd implements Program {
    private final Object lock = new Object();
    private final boolean isFree;

    Crowd(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 8;
    }

    @Override
    public void step(Work work) {
        work.micros(80);
        if (isFree) {
            enter(work);
        } else {
            synchronized (lock) {
                enter(work);
            }
        }
    }

    private static void enter(Work work) {
        work.micros(20);
    }
}
