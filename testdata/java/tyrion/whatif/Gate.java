package tyrion.whatif;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/**
 * Twelve threads use a service that lets two in at a time. After: it lets all of them in.
 */
final class Gate implements Program {
    private final Semaphore gate;

    Gate(boolean after) {
        gate = new Semaphore(after ? 12 : 2);
    }

    @Override
    public int threads() {
        return 12;
    }

    @Override
    public void step(Work work) throws InterruptedException {
        work.micros(100);
        gate.acquire();
        try {
            LockSupport.parkNanos(2_000_000);
        } finally {
            gate.release();
        }
    }
}
