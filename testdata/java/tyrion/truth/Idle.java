package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Exchanger;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * Threads that wait for work, for time or for each other, and never for a lock: there is no lock
 * contention at all. One way of waiting after the other, each in a thread of its own. Whoever ends
 * such a wait first sees that it has begun, so it takes {@code least_ns} at the least.
 */
final class Idle implements Scenario {
    private static final int TIMES = 5;
    private static final long PAUSE_MILLIS = 100;
    private static final long FEED_MILLIS = 40;

    /** One way of waiting: returns how many milliseconds it waited at the least. */
    private interface Waiting {
        long waitIdly() throws Exception;
    }

    private final List<Json> activities = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) {
        ThreadPoolExecutor pool = idlePool();
        spend("object-wait", this::inObjectWait);
        spend("queue-take", this::inQueueTake);
        spend("condition-await", this::inConditionAwait);
        spend("latch-await", this::inLatchAwait);
        spend("future-get", this::inFutureGet);
        spend("sleep", this::inSleep);
        spend("exchanger", this::inExchanger);
        spend("synchronous-queue-poll", this::inSynchronousQueuePoll);
        spend("park", this::inPark);
        spend("join", this::inJoin);
        report.put("contentions", 0)
                .put("wait_ns", 0)
                .put("pool_threads", pool.getPoolSize())
                .put("activities", activities);
    }

    /** Waits in one way, in a thread named after it, and measures it. */
    private void spend(String name, Waiting waiting) {
        String threadName = "idle-" + name;
        long[] begun = new long[1];
        long[] idleNanos = new long[1];
        long[] leastMillis = new long[1];
        Thread thread = Threads.start(threadName, () -> {
            begun[0] = System.nanoTime();
            try {
                leastMillis[0] = waiting.waitIdly();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            idleNanos[0] = System.nanoTime() - begun[0];
        });
        long waitingSince = Threads.awaitWaiting(thread);
        Threads.join(thread);
        // A timeout may have begun before the wait did.
        long late = waitingSince - begun[0];
        activities.add(new Json()
                .put("activity", name)
                .put("thread", threadName)
                .put("least_ns", Math.max(0, TimeUnit.MILLISECONDS.toNanos(leastMillis[0]) - late))
                .put("idle_ns", idleNanos[0]));
    }

    /**
     * Two workers, "pool-idler", that wait for a task until the JVM ends: shut down they might
     * contend.
     */
    private static ThreadPoolExecutor idlePool() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                2, 2, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), body -> {
                    Thread thread = new Thread(body, "pool-idler");
                    thread.setDaemon(true);
                    return thread;
                });
        pool.prestartAllCoreThreads();
        return pool;
    }

    private long inObjectWait() throws InterruptedException {
        Object mailbox = new Object();
        for (int i = 0; i < TIMES; i++) {
            synchronized (mailbox) {
                mailbox.wait(PAUSE_MILLIS); // WAIT
            }
        }
        return TIMES * PAUSE_MILLIS;
    }

    private long inQueueTake() throws InterruptedException {
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        Thread taker = Thread.currentThread();
        Thread feeder = Threads.start("feeder", () -> {
            for (int i = 0; i < TIMES; i++) {
                // Whoever takes may still have to take what came before.
                while (!queue.isEmpty()) {
                    Threads.sleepMillis(1);
                }
                Threads.awaitWaiting(taker);
                Threads.sleepMillis(FEED_MILLIS);
                queue.add(i);
            }
        });
        for (int i = 0; i < TIMES; i++) {
            queue.take(); // WAIT
        }
        Threads.join(feeder);
        return TIMES * FEED_MILLIS;
    }

    private long inConditionAwait() throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        Condition never = lock.newCondition();
        lock.lock();
        try {
            never.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        } finally {
            lock.unlock();
        }
        return PAUSE_MILLIS;
    }

    private long inLatchAwait() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        Thread waiting = Thread.currentThread();
        Thread opener = Threads.start("opener", () -> {
            pauseOnceWaiting(waiting);
            latch.countDown();
        });
        latch.await(); // WAIT
        Threads.join(opener);
        return PAUSE_MILLIS;
    }

    private long inFutureGet() throws Exception {
        Thread waiting = Thread.currentThread();
        FutureTask<String> future = new FutureTask<>(() -> {
            pauseOnceWaiting(waiting);
            return "done";
        });
        Thread computer = Threads.start("computer", future);
        future.get(); // WAIT
        Threads.join(computer);
        return PAUSE_MILLIS;
    }

    private long inSleep() throws InterruptedException {
        Thread.sleep(PAUSE_MILLIS); // WAIT
        return PAUSE_MILLIS;
    }

    private long inExchanger() throws InterruptedException {
        Exchanger<String> nobody = new Exchanger<>();
        try {
            nobody.exchange("hello?", PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        } catch (TimeoutException expected) {
            return PAUSE_MILLIS;
        }
        throw new IllegalStateException("somebody came");
    }

    private long inSynchronousQueuePoll() throws InterruptedException {
        new SynchronousQueue<String>().poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        return PAUSE_MILLIS;
    }

    private long inPark() {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS);
        // A park may end for no reason.
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left); // WAIT
        }
        return PAUSE_MILLIS;
    }

    private long inJoin() throws InterruptedException {
        Thread waiting = Thread.currentThread();
        Thread sleeper = Threads.start("sleeper", () -> pauseOnceWaiting(waiting));
        sleeper.join(); // WAIT
        return PAUSE_MILLIS;
    }

    private static void pauseOnceWaiting(Thread waiting) {
        Threads.awaitWaiting(waiting);
        Threads.sleepMillis(PAUSE_MILLIS);
    }
}
