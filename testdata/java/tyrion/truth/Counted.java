package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import tyrion.support.Json;

/**
 * A lock that threads take a known number of times, each round in a way of its own. Establishes,
 * beside the numbers, that the lock does exclude: a plain counter under it loses nothing.
 */
abstract class Counted {
    private static final int ATTEMPTS = 60;

    private final List<Tally> tallies = new ArrayList<>();
    /** Incremented once for each time that the lock was had for itself alone. */
    long plain;

    private long expectedPlain;

    /** What a thread did. */
    static final class Tally {
        private final String thread;
        long acquisitions;
        long reentrant;
        long failed;
        /** How often the thread incremented {@link #plain}. */
        long alone;

        Tally(String thread) {
            this.thread = thread;
        }
    }

    /** Takes the lock, and gives it back. */
    abstract void round(int number, Tally tally) throws Exception;

    /** Whether there is a way to ask for the lock and not to get it. */
    boolean canFail() {
        return false;
    }

    /** Keeps the lock while something else goes on. */
    void keep(Runnable whileKept, Tally tally) {
        throw new UnsupportedOperationException();
    }

    /** Asks for a lock that is kept by another thread, in vain. */
    void attempt(int number, Tally tally) throws Exception {
        throw new UnsupportedOperationException();
    }

    final void count(String kind, int threadCount, int rounds, boolean virtual) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            int own = rounds / threadCount + (i <= rounds % threadCount ? 1 : 0);
            threads.add(start(kind + "-" + i, virtual, tally -> {
                for (int number = 0; number < own; number++) {
                    round(number, tally);
                }
            }));
        }
        Threads.join(threads);
        if (canFail()) {
            Tally keeper = tally(Thread.currentThread().getName());
            keep(() -> Threads.join(start(kind + "-loser", virtual, tally -> {
                for (int number = 0; number < ATTEMPTS; number++) {
                    attempt(number, tally);
                }
            })), keeper);
        }
        for (Tally tally : tallies) {
            expectedPlain += tally.alone;
        }
        if (plain != expectedPlain) {
            throw new IllegalStateException(
                    kind + " does not exclude: " + plain + " of " + expectedPlain);
        }
    }

    final long acquisitions() {
        return tallies.stream().mapToLong(tally -> tally.acquisitions).sum();
    }

    final Json report(String kind) {
        List<Json> threads = new ArrayList<>();
        for (Tally tally : tallies) {
            threads.add(new Json()
                    .put("thread", tally.thread)
                    .put("acquisitions", tally.acquisitions)
                    .put("reentrant", tally.reentrant)
                    .put("failed", tally.failed));
        }
        return new Json()
                .put("kind", kind)
                .put("class", getClass().getName())
                .put("acquisitions", acquisitions())
                .put("reentrant", tallies.stream().mapToLong(tally -> tally.reentrant).sum())
                .put("failed", tallies.stream().mapToLong(tally -> tally.failed).sum())
                .put("threads", threads);
    }

    /** What a thread does with its tally. */
    private interface Work {
        void run(Tally tally) throws Exception;
    }

    private Thread start(String name, boolean virtual, Work work) {
        Tally tally = tally(name);
        ThreadFactory factory = virtual ? VirtualThreads.named(name) : Threads.named(name);
        Thread thread = factory.newThread(() -> {
            try {
                work.run(tally);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    private Tally tally(String thread) {
        Tally tally = new Tally(thread);
        tallies.add(tally);
        return tally;
    }
}
