package tyrion.whatif;

/**
 * Four threads write to a journal and format each line while they hold its monitor. After: half of
 * that work is not done any more.
 */
final class Journal implements Program {
    private final Object lock = new Object();
    private final int heldMicros;

    Journal(boolean after) {
        heldMicros = after ? 60 : 120;
    }

    @Override
    public int threads() {
        return 4;
    }

    @Override
    public void step(Work work) {
        work.micros(30);
        synchronized (lock) {
            work.micros(heldMicros);
        }
    }
}
