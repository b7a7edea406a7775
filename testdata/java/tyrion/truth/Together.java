package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import tyrion.support.Json;

/**
 * {@code together KIND N HOLDMS}: N threads ask for one lock at the same time, and each keeps it
 * for HOLDMS, asleep. All but the first wait, the n-th about (n-1) times HOLDMS: the sum is about
 * HOLDMS · N · (N-1) / 2.
 */
final class Together implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        String kind = arguments.text(0, "monitor");
        int threadCount = arguments.number(1, 8);
        int holdMillis = arguments.number(2, 10);

        Guard guard = Guard.of(kind);
        CountDownLatch started = new CountDownLatch(1);
        List<Participant> participants = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            Participant participant = new Participant(guard, holdMillis, started);
            participants.add(participant);
            threads.add(Threads.start("together-" + i, participant));
        }
        started.countDown();
        Threads.join(threads);

        List<Long> waits = new ArrayList<>();
        long sum = 0;
        for (Participant participant : participants) {
            waits.add(participant.waitNanos);
            sum += participant.waitNanos;
        }
        report.put("kind", kind)
                .put("threads", threadCount)
                .put("contentions", threadCount - 1)
                .put("wait_ns", sum)
                .put("waits_ns", waits);
    }

    /** One of the threads. */
    private static final class Participant implements Runnable {
        private final Guard guard;
        private final int holdMillis;
        private final CountDownLatch started;
        // Made by the main thread: a lambda's first use in two threads at once contends in the JDK.
        private final Runnable hold = this::holdAsleep;
        private long waitNanos;

        Participant(Guard guard, int holdMillis, CountDownLatch started) {
            this.guard = guard;
            this.holdMillis = holdMillis;
            this.started = started;
        }

        @Override
        public void run() {
            try {
                started.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            waitNanos = guard.pass(hold);
        }

        private void holdAsleep() {
            Threads.sleepMillis(holdMillis);
        }
    }
}
