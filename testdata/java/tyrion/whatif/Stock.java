package tyrion.whatif;

import java.util.concurrent.locks.ReentrantLock;

/** Eight threads change one of many articles, under one lock. After: under one of eight. */
final class Stock implements Program {
    private static final int STRIPES = 8;

    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock[] stripes = new ReentrantLock[STRIPES];
    private final boolean isStriped;

    Stock(boolean after) {
        isStriped = after;
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new ReentrantLock();
        }
    }

    @Override
    public int threads() {
        return 8;
    }

    @Override
    public void step(Work work) {
        int article = work.below(10_000);
        work.micros(15);
        ReentrantLock taken = isStriped ? stripes[article % STRIPES] : lock;
        taken.lock();
        try {
            work.micros(50);
        } finally {
            taken.unlock();
        }
    }
}
