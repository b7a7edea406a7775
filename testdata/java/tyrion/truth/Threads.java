package tyrion.truth;

import java.util.concurrent.ThreadFactory;

/** Threads with names, waited for without a checked exception. */
final class Threads {
    private Threads() {}

    /** Makes platform threads of one name. */
    static ThreadFactory named(String name) {
        return body -> new Thread(body, name);
    }

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.start();
        return thread;
    }

    static void join(Iterable<Thread> threads) {
        for (Thread thread : threads) {
            join(thread);
        }
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sleeps for the whole time: {@link Thread#sleep} does not wake early. */
    static void sleepMillis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void sleepForever() {
        while (true) {
            sleepMillis(Integer.MAX_VALUE);
        }
    }
}
