package tyrion.truth;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code reacquire VARIANT}: thread "awaiter" waits on a condition for 50 ms or more, and then 100
 * ms or more for the lock, which thread "signaller" keeps. The first part is idle, the second is
 * waiting for a lock. Variants:
 *
 * <ul>
 *   <li>{@code condition}: signalled. The thread stays parked through both parts: it sees one park.
 *   <li>{@code condition-timeout}: the await times out while the lock is held: two parks.
 *   <li>{@code monitor}: notified, as {@code condition} with a monitor.
 *   <li>{@code monitor-timeout}: as {@code condition-timeout} with a monitor.
 * </ul>
 *
 * <p>Both parts are told as their length at the {@code least} and at the {@code most}, and so are
 * both together: what was seen of the awaiter, and what it measured itself.
 */
final class Reacquire implements Scenario {
    private static final long IDLE_MILLIS = 50;
    private static final long WAIT_MILLIS = 100;
    /** Long enough for the signaller to take the lock before. */
    private static final long TIMEOUT_MILLIS = 300;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String variant = arguments.text(0, "condition");
        Meeting meeting =
                variant.startsWith("monitor") ? new MonitorMeeting() : new ConditionMeeting();
        Awaiter awaiter = new Awaiter(meeting, variant.endsWith("-timeout"));
        Thread awaiting = Threads.start("awaiter", awaiter);
        long idleSince = Threads.awaitWaiting(awaiting);
        Signaller signaller = new Signaller(meeting, awaiter, awaiting);
        Threads.sleepMillis(awaiter.timesOut ? 0 : IDLE_MILLIS);
        Thread signalling = Threads.start("signaller", signaller);
        Threads.join(awaiting);
        Threads.join(signalling);

        // Between these two the idle part ended.
        long earliest = awaiter.timesOut
                ? awaiter.began + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS)
                : signaller.waking;
        long latest = signaller.wantedSince;
        report.put("variant", variant)
                .put("contentions", 1)
                .put("idle_least_ns", earliest - idleSince)
                .put("idle_most_ns", latest - awaiter.began)
                .put("wait_least_ns", signaller.leaving - latest)
                .put("wait_most_ns", awaiter.ended - earliest)
                .put("total_least_ns", signaller.leaving - idleSince)
                .put("total_most_ns", awaiter.ended - awaiter.began);
    }

    /** Who waits on the condition, and then for the lock. */
    private static final class Awaiter implements Runnable {
        private final Meeting meeting;
        private final boolean timesOut;
        private volatile long began;
        private volatile long ended;

        Awaiter(Meeting meeting, boolean timesOut) {
            this.meeting = meeting;
            this.timesOut = timesOut;
        }

        @Override
        public void run() {
            meeting.within(() -> {
                began = System.nanoTime();
                meeting.await(timesOut ? TIMEOUT_MILLIS : 0);
                ended = System.nanoTime();
            });
        }
    }

    /** Who has the lock when the awaiter wants it again. */
    private static final class Signaller implements Runnable {
        private final Meeting meeting;
        private final Awaiter awaiter;
        private final Thread awaiting;
        private volatile long waking;
        private volatile long wantedSince;
        private volatile long leaving;

        Signaller(Meeting meeting, Awaiter awaiter, Thread awaiting) {
            this.meeting = meeting;
            this.awaiter = awaiter;
            this.awaiting = awaiting;
        }

        @Override
        public void run() {
            meeting.within(() -> {
                if (awaiter.timesOut) {
                    // Its time is over once it waits without a limit: for the lock.
                    while (awaiting.getState() == Thread.State.TIMED_WAITING) {
                        Threads.sleepMillis(1);
                    }
                    wantedSince = Threads.awaitWaiting(awaiting);
                } else {
                    waking = System.nanoTime();
                    meeting.wake();
                    wantedSince = System.nanoTime();
                }
                Threads.sleepMillis(WAIT_MILLIS);
                leaving = System.nanoTime();
            });
        }
    }

    /** A lock with a condition. */
    private interface Meeting {
        void within(Runnable body);

        /** Waits for the condition, and returns when the lock was there again; 0 ms is for ever. */
        void await(long millis);

        /** Wakes who waits. */
        void wake();
    }

    /** A {@link ReentrantLock} and its condition. */
    private static final class ConditionMeeting implements Meeting {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition arrived = lock.newCondition();

        @Override
        public void within(Runnable body) {
            lock.lock();
            try {
                body.run();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void await(long millis) {
            try {
                if (millis == 0) {
                    arrived.await(); // WAIT
                } else {
                    arrived.await(millis, TimeUnit.MILLISECONDS); // WAIT
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void wake() {
            arrived.signal();
        }
    }

    /** A monitor. */
    private static final class MonitorMeeting implements Meeting {
        private final Object place = new Object();

        @Override
        public void within(Runnable body) {
            synchronized (place) {
                body.run();
            }
        }

        @Override
        public void await(long millis) {
            try {
                place.wait(millis); // WAIT
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void wake() {
            place.notify();
        }
    }
}
