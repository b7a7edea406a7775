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
 * contention at all. One way of waiting after the other, each in a thread of its own.
 */
final class Idle implements Scenario {
    private static final int TIMES = 5;
    private static final long PAUSE_MILLIS = 100;
    private static final long FEED_MILLIS = 40;

    /** One way of waiting: returns how often it waited. */
    private interface Waiting {
        int waitIdly() throws Exception;
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
        long[] idleNanos = new long[1];
        int[] waits = new int[1];
        Threads.join(Threads.start(threadName, () -> {
            long begin = System.nanoTime();
            try {
                waits[0] = waiting.waitIdly();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            idleNanos[0] = System.nanoTime() - begin;
        }));
        activities.add(new Json()
                .put("activity", name)
                .put("thread", threadName)
                .put("waits", waits[0])
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

    private int inObjectWait() throws InterruptedException {
        Object mailbox = new Object();
        for (int i = 0; i < TIMES; i++) {
            synchronized (mailbox) {
                mailbox.wait(PAUSE_MILLIS); // WAIT
            }
        }
        return TIMES;
    }

    private int inQueueTake() throws InterruptedException {
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        Thread feeder = Threads.start("feeder", () -> {
            for (int i = 0; i < TIMES; i++) {
                Threads.sleepMillis(FEED_MILLIS);
                queue.add(i);
            }
        });
        for (int i = 0; i < TIMES; i++) {
            queue.take(); // WAIT
        }
        Threads.join(feeder);
        return TIMES;
    }

    private int inConditionAwait() throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        Condition never = lock.newCondition();
        lock.lock();
        try {
            never.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        } finally {
            lock.unlock();
        }
        return 1;
    }

    private int inLatchAwait() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        Thread opener = Threads.start("opener", () -> {
            Threads.sleepMillis(PAUSE_MILLIS);
            latch.countDown();
        });
        latch.await(); // WAIT
        Threads.join(opener);
        return 1;
    }

    private int inFutureGet() throws Exception {
        FutureTask<String> future = new FutureTask<>(() -> {
            Thread.sleep(PAUSE_MILLIS);
            return "done";
        });
        Thread computer = Threads.start("computer", future);
        future.get(); // WAIT
        Threads.join(computer);
        return 1;
    }

    private int inSleep() throws InterruptedException {
        Thread.sleep(PAUSE_MILLIS); // WAIT
        return 1;
    }

    private int inExchanger() throws InterruptedException {
        Exchanger<String> nobody = new Exchanger<>();
        try {
            nobody.exchange("hello?", PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        } catch (TimeoutException expected) {
            return 1;
        }
        throw new IllegalStateException("somebody came");
    }

    private int inSynchronousQueuePoll() throws InterruptedException {
        new SynchronousQueue<String>().poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS); // WAIT
        return 1;
    }

    private int inPark() {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS)); // WAIT
        return 1;
    }

    private int inJoin() throws InterruptedException {
        Thread sleeper = Threads.start("sleeper", () -> Threads.sleepMillis(PAUSE_MILLIS));
        sleeper.join(); // WAIT
        return 1;
    }
}
