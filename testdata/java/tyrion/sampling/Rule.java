package tyrion.sampling;

/** A sampler in plain Java, at work in the program that is sampled. */
abstract class Rule extends Thread {
    private final int periodMillis;
    private volatile boolean isOver;

    Rule(String name, int periodMillis) {
        super(name);
        this.periodMillis = periodMillis;
        setDaemon(true);
    }

    /** Whether a thread is one of those that measure themselves. */
    static boolean isWatched(String thread) {
        return thread.matches("(worker|keeper|reader|selector)-\\d|pool-1-thread-1");
    }

    @Override
    public final void run() {
        begin();
        while (!isOver) {
            try {
                Thread.sleep(periodMillis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            sample();
        }
    }

    abstract void begin();

    abstract void sample();

    final void end() throws InterruptedException {
        isOver = true;
        join();
    }
}
