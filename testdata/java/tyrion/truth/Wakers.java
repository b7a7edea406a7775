package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code wakers [TIMES]}: a thread "waiter-WAY" waits TIMES in each way, and each time another
 * thread ends its wait, "waker-WAY-0" and "waker-WAY-1" by turns, some milliseconds after it was
 * seen to wait. Then three threads "crowd-N" wait for one object, and are notified one by one: each
 * says by whom. With {@code -Dtruth.virtual=true} all of these threads are virtual.
 */
final class Wakers implements Scenario {
    private static final long ASLEEP_MILLIS = 5;
    private static final int CROWD = 3;

    private final boolean isVirtual = Boolean.getBoolean("truth.virtual");
    private final List<Json> ways = new ArrayList<>();
    private int times;

    /** A way to wait, and to end the wait of another thread. */
    private interface Way {
        /** Is called by the waker before the other one waits. */
        default void prepare() throws Exception {}

        void await() throws Exception;

        void wake(Thread waiter) throws Exception;
    }

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        times = arguments.number(0, 10);
        if (isVirtual) {
            VirtualThreads.require();
        }
        meet("unpark", "park", new Unparked());
        meet("latch", "park", new Latched());
        meet("future", "park", new Computed());
        meet("queue", "condition", new Queued());
        meet("condition", "condition", new Signalled());
        meet("semaphore", "semaphore", new Permitted());
        meet("lock", "lock", new Locked());
        meet("notify", "object-wait", new Notified(false));
        meet("notify-all", "object-wait", new Notified(true));
        report.put("times", times).put("ways", ways).put("crowd", crowd());
    }

    private ThreadFactory named(String name) {
        return isVirtual ? VirtualThreads.named(name) : Threads.named(name);
    }

    private Thread start(String name, Runnable body) {
        Thread thread = named(name).newThread(body);
        thread.start();
        return thread;
    }

    /** What the waiter and the waker of one wait know of each other. */
    private static final class Turns {
        private volatile int prepared;
        private volatile int begun;
        private volatile int ended;
    }

    private void meet(String name, String kind, Way way) {
        Turns turns = new Turns();
        Thread waiter = start("waiter-" + name, () -> waitEachTime(way, turns));
        List<String> wakers = new ArrayList<>();
        for (int i = 1; i <= times; i++) {
            int turn = i;
            String waker = "waker-" + name + "-" + i % 2;
            wakers.add(waker);
            Threads.join(start(waker, () -> wakeOnce(way, turns, turn, waiter)));
            // Else the next one might take a lock before the waiter has got it.
            while (turns.ended < turn) {
                Threads.sleepMillis(1);
            }
        }
        Threads.join(waiter);
        ways.add(new Json()
                .put("way", name)
                .put("kind", kind)
                .put("waiter", "waiter-" + name)
                .put("wakers", wakers));
    }

    private void waitEachTime(Way way, Turns turns) {
        for (int i = 1; i <= times; i++) {
            while (turns.prepared < i) {
                Thread.yield();
            }
            turns.begun = i;
            try {
                way.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            turns.ended = i;
        }
    }

    private static void wakeOnce(Way way, Turns turns, int turn, Thread waiter) {
        try {
            way.prepare();
            turns.prepared = turn;
            while (turns.begun < turn) {
                Thread.yield();
            }
            Threads.awaitBlocked(waiter);
            Threads.sleepMillis(ASLEEP_MILLIS);
            way.wake(waiter);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Unparked implements Way {
        private volatile int given;
        private volatile int taken;

        @Override
        public void await() {
            int mine = taken + 1;
            taken = mine;
            while (given < mine) {
                LockSupport.park(this);
            }
        }

        @Override
        public void wake(Thread waiter) {
            given = taken;
            LockSupport.unpark(waiter);
        }
    }

    private static final class Latched implements Way {
        private volatile CountDownLatch latch;

        @Override
        public void prepare() {
            latch = new CountDownLatch(1);
        }

        @Override
        public void await() throws InterruptedException {
            latch.await();
        }

        @Override
        public void wake(Thread waiter) {
            latch.countDown();
        }
    }

    private static final class Computed implements Way {
        private volatile FutureTask<String> task;

        @Override
        public void prepare() {
            task = new FutureTask<>(() -> "done");
        }

        @Override
        public void await() throws Exception {
            task.get();
        }

        @Override
        public void wake(Thread waiter) {
            task.run();
        }
    }

    private static final class Queued implements Way {
        private final LinkedBlockingQueue<String> queue = new LinkedBlockingQueue<>();

        @Override
        public void await() throws InterruptedException {
            queue.take();
        }

        @Override
        public void wake(Thread waiter) throws InterruptedException {
            queue.put("done");
        }
    }

    private static final class Signalled implements Way {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition condition = lock.newCondition();
        private int given;

        @Override
        public void await() throws InterruptedException {
            lock.lock();
            try {
                while (given == 0) {
                    condition.await();
                }
                given--;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void wake(Thread waiter) {
            lock.lock();
            try {
                given++;
                condition.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Permitted implements Way {
        private final Semaphore semaphore = new Semaphore(0);

        @Override
        public void await() throws InterruptedException {
            semaphore.acquire();
        }

        @Override
        public void wake(Thread waiter) {
            semaphore.release();
        }
    }

    private static final class Locked implements Way {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        public void prepare() {
            lock.lock();
        }

        @Override
        public void await() {
            lock.lock();
            lock.unlock();
        }

        @Override
        public void wake(Thread waiter) {
            lock.unlock();
        }
    }

    private static final class Notified implements Way {
        private final boolean all;
        private int given;

        private Notified(boolean all) {
            this.all = all;
        }

        @Override
        public synchronized void await() throws InterruptedException {
            while (given == 0) {
                wait();
            }
            given--;
        }

        @Override
        public synchronized void wake(Thread waiter) {
            given++;
            if (all) {
                notifyAll();
            } else {
                notify();
            }
        }
    }

    /** Those of a crowd, and by whom each was notified. */
    private List<Json> crowd() {
        Crowd crowd = new Crowd();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < CROWD; i++) {
            String name = "crowd-" + i;
            Thread thread = start(name, () -> crowd.await(name));
            Threads.awaitBlocked(thread);
            threads.add(thread);
        }
        Threads.sleepMillis(ASLEEP_MILLIS);
        for (int i = 0; i < CROWD; i++) {
            String name = "notifier-" + i;
            Threads.join(start(name, () -> crowd.wakeOne(name)));
            crowd.awaitWoken(i + 1);
        }
        Threads.join(threads);
        return crowd.woken;
    }

    private static final class Crowd {
        private final List<Json> woken = new ArrayList<>();
        private String waker;
        private volatile int count;

        private synchronized void await(String name) {
            try {
                while (waker == null) {
                    wait();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            woken.add(new Json().put("waiter", name).put("waker", waker));
            waker = null;
            count = woken.size();
        }

        private synchronized void wakeOne(String name) {
            waker = name;
            notify();
        }

        private void awaitWoken(int so) {
            while (count < so) {
                Threads.sleepMillis(1);
            }
        }
    }
}
