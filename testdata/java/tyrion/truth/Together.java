package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tyrion.support.Json;

/**
 * {@code together KIND N HOLDMS}: N threads ask for one lock. The first keeps it, asleep, for HOLDMS
 * from the moment on when all others were seen to wait; each of these keeps it for HOLDMS, too. All
 * but the first wait, the n-th at least (n-1) times HOLDMS: the sum is HOLDMS · N · (N-1) / 2 or
 * more, between {@code least_ns} and {@code wait_ns}.
 */
final class Together implements Scenario {
    /** When the last one was about to leave the lock: written and read by who has it. */
    private long leaving;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String kind = arguments.text(0, "monitor");
        int threadCount = arguments.number(1, 8);
        int holdMillis = arguments.number(2, 10);

        Guard guard = Guard.of(kind);
        Holder first = new Holder(guard);
        List<Thread> threads = new ArrayList<>(Arrays.asList(Threads.start("together-1", first)));
        first.awaitHeld();
        List<Participant> participants = new ArrayList<>();
        for (int i = 2; i <= threadCount; i++) {
            Participant participant = new Participant(guard, holdMillis);
            participants.add(participant);
            threads.add(Threads.start("together-" + i, participant));
        }
        for (int i = 1; i < threadCount; i++) {
            participants.get(i - 1).waitingSince = Threads.awaitWaiting(threads.get(i));
        }
        Threads.sleepMillis(holdMillis);
        leaving = System.nanoTime();
        first.leave();
        Threads.join(threads);

        List<Long> waits = new ArrayList<>();
        long sum = 0;
        long least = 0;
        for (Participant participant : participants) {
            waits.add(participant.waitNanos);
            sum += participant.waitNanos;
            least += participant.leftToIt - participant.waitingSince;
        }
        report.put("kind", kind)
                .put("threads", threadCount)
                .put("contentions", threadCount - 1)
                .put("least_ns", least)
                .put("wait_ns", sum)
                .put("waits_ns", waits);
    }

    /** One of the threads that wait. */
    private final class Participant implements Runnable {
        private final Guard guard;
        private final int holdMillis;
        // Made by the main thread: a lambda's first use in two threads at once contends in the JDK.
        private final Runnable hold = this::holdAsleep;
        private volatile long waitingSince;
        private long leftToIt;
        private long waitNanos;

        Participant(Guard guard, int holdMillis) {
            this.guard = guard;
            this.holdMillis = holdMillis;
        }

        @Override
        public void run() {
            waitNanos = guard.pass(hold);
        }

        private void holdAsleep() {
            leftToIt = leaving;
            Threads.sleepMillis(holdMillis);
            leaving = System.nanoTime();
        }
    }
}
