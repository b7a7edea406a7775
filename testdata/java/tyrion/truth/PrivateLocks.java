package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;

/**
 * {@code private N KIND}: N threads, each with a lock of its own, taken 200 000 times. Much
 * locking, no contention: each lock is used by one thread only.
 */
final class PrivateLocks implements Scenario {
    private static final int ACQUISITIONS_PER_THREAD = 200_000;

    @Override
    public void run(Arguments arguments, Json report) {
        int threadCount = arguments.number(0, 4);
        String kind = arguments.text(1, "monitor");

        List<Owner> owners = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            Owner owner = new Owner(Guard.of(kind));
            owners.add(owner);
            threads.add(Threads.start("owner-" + i, owner));
        }
        Threads.join(threads);

        long acquisitions = 0;
        for (Owner owner : owners) {
            acquisitions += owner.acquisitions;
        }
        report.put("kind", kind)
                .put("threads", threadCount)
                .put("acquisitions", acquisitions)
                .put("contentions", 0);
    }

    /** A thread and its lock. */
    private static final class Owner implements Runnable {
        private final Guard own;
        // Made by the main thread: a lambda's first use in two threads at once contends in the JDK.
        private final Runnable count = this::count;
        private long acquisitions;

        Owner(Guard own) {
            this.own = own;
        }

        @Override
        public void run() {
            for (int i = 0; i < ACQUISITIONS_PER_THREAD; i++) {
                own.pass(count);
            }
        }

        private void count() {
            acquisitions++;
        }
    }
}
