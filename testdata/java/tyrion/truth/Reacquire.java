package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code reacquire VARIANT}: thread "awaiter" waits on a condition for 50 ms, and then 100 ms more
 * for the lock, which thread "signaller" keeps. The first part is idle, the second is waiting for a
 * lock. Variants:
 *
 * <ul>
 *   <li>{@code condition}: signalled. The thread stays parked through both parts: it sees one park.
 *   <li>{@code condition-timeout}: the await times out while the lock is held: two parks.
 *   <li>{@code monitor}: notified, as {@code condition} with a monitor.
 *   <li>{@code monitor-timeout}: as {@code condition-timeout} with a monitor.
 * </ul>
 */
final class Reacquire implements Scenario {
    private static final long IDLE_MILLIS = 50;
    private static final long WAIT_MILLIS = 100;

    /** When the awaiter's wait ended and only the lock was missing, if it was woken. */
    private volatile long wokenAtNanos;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String variant = arguments.text(0, "condition");
        boolean timesOut = variant.endsWith("-timeout");
        Meeting meeting =
                variant.startsWith("monitor") ? new MonitorMeeting() : new ConditionMeeting();

        // An await that is to time out finds the lock taken since half of its time.
        long earlierMillis = timesOut ? IDLE_MILLIS / 2 : 0;
        long awaitMillis = timesOut ? IDLE_MILLIS : 0;
        long[] span = new long[2];
        Thread awaiter = Threads.start("awaiter", () -> {
            span[0] = System.nanoTime();
            span[1] = meeting.awaitIdly(awaitMillis);
        });
        Threads.sleepMillis(IDLE_MILLIS - earlierMillis);
        Thread signaller = Threads.start(
                "signaller", () -> meeting.hold(!timesOut, earlierMillis + WAIT_MILLIS));
        Threads.join(awaiter);
        Threads.join(signaller);

        long idleUntil =
                timesOut ? span[0] + TimeUnit.MILLISECONDS.toNanos(IDLE_MILLIS) : wokenAtNanos;
        report.put("variant", variant)
                .put("contentions", 1)
                .put("idle_ns", idleUntil - span[0])
                .put("wait_ns", span[1] - idleUntil)
                .put("total_ns", span[1] - span[0]);
    }

    /** A lock with a condition. */
    private abstract class Meeting {
        /** Waits for the condition, and returns when the lock was there again; 0 ms is for ever. */
        abstract long awaitIdly(long millis);

        /** Takes the lock, wakes the awaiter if told to, and keeps the lock for a time. */
        abstract void hold(boolean wakes, long millis);
    }

    /** A {@link ReentrantLock} and its condition. */
    private final class ConditionMeeting extends Meeting {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition arrived = lock.newCondition();

        @Override
        long awaitIdly(long millis) {
            lock.lock();
            try {
                if (millis == 0) {
                    arrived.await(); // WAIT
                } else {
                    arrived.await(millis, TimeUnit.MILLISECONDS); // WAIT
                }
                return System.nanoTime();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                lock.unlock();
            }
        }

        @Override
        void hold(boolean wakes, long millis) {
            lock.lock();
            try {
                if (wakes) {
                    wokenAtNanos = System.nanoTime();
                    arrived.signal();
                }
                Threads.sleepMillis(millis);
            } finally {
                lock.unlock();
            }
        }
    }

    /** A monitor. */
    private final class MonitorMeeting extends Meeting {
        private final Object place = new Object();

        @Override
        long awaitIdly(long millis) {
            synchronized (place) {
                try {
                    place.wait(millis); // WAIT
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return System.nanoTime();
            }
        }

        @Override
        void hold(boolean wakes, long millis) {
            synchronized (place) {
                if (wakes) {
                    wokenAtNanos = System.nanoTime();
                    place.notify();
                }
                Threads.sleepMillis(millis);
            }
        }
    }
}
