package tyrion.whatif;

/**
 * Sixteen threads rest between operations, and compute with a monitor. After: there is no monitor,
 * so that both processors compute.
 */
final class Sessions implements Program {
    private final Object lock = new Object();
    private final boolean isFree;

    Sessions(boolean after) {
        isFree = after;
    }

    @Override
    public int threads() {
        return 16;
    }

    @Override
    public void step(Work work) throws InterruptedException {
        Thread.sleep(1);
        if (isFree) {
            serve(work);
        } else {
            synchronized (lock) {
                serve(work);
            }
        }
    }

    private static void serve(Work work) {
        work.micros(200);
    }
}
