package tyrion.truth;

import java.util.concurrent.atomic.AtomicBoolean;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code undisturbed [MILLIS]}: one thread takes a lock that no other thread ever takes, once and
 * again within that, while others keep all processors busy. It is often not run for a while just
 * where it takes the lock, but never waits for it. Once before, another thread has waited for the
 * lock, so that its monitor is inflated.
 */
final class Undisturbed implements Scenario {
    private static final int BUSY_PER_CPU = 2;

    private final Object fresh = new Object();
    private final Object inflated = new Object();
    private long taken;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        long endNanos = System.nanoTime() + arguments.number(0, 2_000) * 1_000_000L;
        AtomicBoolean done = new AtomicBoolean();
        int busy = BUSY_PER_CPU * Runtime.getRuntime().availableProcessors();
        Thread[] threads = new Thread[busy];
        for (int i = 0; i < busy; i++) {
            threads[i] =
                    Threads.start(
                            "busy-" + i,
                            () -> {
                                while (!done.get()) {
                                    Older.onSpinWait();
                                }
                            });
        }
        Thread owner = Threads.start("owner", () -> own(endNanos));
        Threads.join(owner);
        done.set(true);
        for (Thread thread : threads) {
            Threads.join(thread);
        }
        report.put("class", Undisturbed.class.getName()).put("taken", taken).put("waits", 0);
    }

    private void own(long endNanos) {
        synchronized (inflated) {
            try {
                inflated.wait(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        while (System.nanoTime() - endNanos < 0) {
            take(fresh);
            take(inflated);
        }
    }

    private void take(Object lock) {
        synchronized (lock) {
            synchronized (lock) {
                taken++;
            }
        }
    }
}
