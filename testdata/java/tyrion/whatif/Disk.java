package tyrion.whatif;

/**
 * Eight threads wait for a slow device while they hold a monitor. After: the device takes their
 * requests all at once.
 */
final class Disk implements Program {
    private final Object lock = new Object();
    private final boolean isFree;

    Disk(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 8;
    }

    @Override
    public void step(Work work) throws InterruptedException {
        work.micros(150);
        if (isFree) {
            write(work);
        } else {
            synchronized (lock) {
                write(work);
            }
        }
    }

    private static void write(Work work) throws InterruptedException {
        work.micros(20);
        Thread.sleep(1);
    }
}
