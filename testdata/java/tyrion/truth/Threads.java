package tyrion.truth;

import java.util.concurrent.CountDownLatch;
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

    /**
     * Returns once a thread was seen to wait and to sleep, and when that was, as {@link
     * System#nanoTime} has it. The thread must not wait for anything else before.
     */
    static long awaitWaiting(Thread thread) {
        while (!isWaiting(thread)) {
            if (thread.getState() == Thread.State.TERMINATED) {
                throw new IllegalStateException(thread.getName() + " has ended and did not wait");
            }
            sleepMillis(1);
        }
        return Asleep.await(thread);
    }

    /** The same by the JVM's word alone, for a crowd: Linux is asked for all threads each time. */
    static void awaitState(Thread thread) {
        while (!isWaiting(thread)) {
            sleepMillis(1);
        }
    }

    /** The same, or once the thread has ended. */
    static long awaitWaitingOrEnd(Thread thread) {
        while (!isWaiting(thread) && thread.getState() != Thread.State.TERMINATED) {
            sleepMillis(1);
        }
        return Asleep.await(thread);
    }

    private static boolean isWaiting(Thread thread) {
        switch (thread.getState()) {
            case BLOCKED:
            case WAITING:
            case TIMED_WAITING:
                return true;
            default:
                return false;
        }
    }

    /**
     * Returns once a thread was seen to wait for a lock, and when that was. Unlike {@link
     * #awaitWaiting} this is for threads that may sleep before.
     */
    static long awaitBlocked(Thread thread) {
        Thread.State state = thread.getState();
        while (state != Thread.State.BLOCKED && state != Thread.State.WAITING) {
            sleepMillis(1);
            state = thread.getState();
        }
        return Asleep.await(thread);
    }

    /** Waits for a latch without a checked exception. */
    static void await(CountDownLatch latch) {
        try {
            latch.await();
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
