package tyrion.truth;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Json;

/**
 * {@code tried-nesting}: threads, one after the other, that take a lock while they hold another
 * one: by waiting for it, if need be, or by trying only. "both" does both at one place that has no
 * probes. {@code nested} says of each whether it tried, and whether it waited.
 */
final class TriedNesting implements Scenario {
    private final ReentrantLock outer = new ReentrantLock();
    private final ReentrantLock inner = new ReentrantLock();
    private final StampedLock stamped = new StampedLock();
    private final Semaphore semaphore = new Semaphore(1);
    private final List<Json> nested = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Method lock = ReentrantLock.class.getMethod("lock");
        Method tryLock = ReentrantLock.class.getMethod("tryLock");
        act("waits", false, true, inner::lock, inner::unlock);
        act("tries", true, false, inner::tryLock, inner::unlock);
        act("waits-some-time", false, true, () -> inner.tryLock(1, TimeUnit.HOURS), inner::unlock);
        act("tries-stamp", true, false, stamped::tryWriteLock, stamped.asWriteLock()::unlock);
        act("tries-permit", true, false, semaphore::tryAcquire, semaphore::release);
        String both = "both";
        act(both, true, true, () -> tryLock.invoke(inner), inner::unlock);
        act(both, true, true, () -> lock.invoke(inner), inner::unlock);
        report.put("nested", nested).put("class", TriedNesting.class.getName());
    }

    private void act(String thread, boolean tries, boolean waits, Action take, Runnable release) {
        nested.add(new Json().put("thread", thread).put("tried", tries).put("waited", waits));
        Threads.join(
                Threads.start(
                        thread,
                        () -> {
                            for (int i = 0; i < 100; i++) {
                                outer.lock();
                                take.act();
                                release.run();
                                outer.unlock();
                            }
                        }));
    }

    /** What takes a lock. */
    private interface Action {
        void run() throws Exception;

        default void act() {
            try {
                run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
