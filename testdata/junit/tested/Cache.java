package tested;

import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/** A lock that one thread has for so long while another one wants it. */
public final class Cache {
    final ReentrantLock cacheLock = new ReentrantLock();
    final Object first = new Object();
    final Object second = new Object();

    /** Another thread waits until this one, which has the lock, gives it back. */
    public void makeOneWait(long millis) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(held, millis), "worker");
        holder.start();
        held.await();
        get();
        holder.join();
    }

    /** The same, and nothing comes behind that. */
    public void makeOneWaitLast(long millis) throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        new Thread(() -> hold(held, millis), "worker").start();
        held.await();
        get();
    }

    /** The same the other way round: a thread that was started waits. */
    public void makeStartedWait(long millis) throws InterruptedException {
        makeStartedWait(millis, new Thread(this::get, "worker"));
    }

    /** The same with a virtual thread, where there are any. */
    public void makeVirtualWait(long millis) throws Exception {
        Runnable get = this::get;
        Object virtual;
        try {
            virtual = Thread.class.getMethod("ofVirtual").invoke(null);
        } catch (NoSuchMethodException e) {
            makeStartedWait(millis, new Thread(get, "worker"));
            return;
        }
        Method unstarted =
                Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class);
        makeStartedWait(millis, (Thread) unstarted.invoke(virtual, get));
    }

    private void makeStartedWait(long millis, Thread waiter) throws InterruptedException {
        cacheLock.lock();
        try {
            waiter.start();
            await(millis);
        } finally {
            cacheLock.unlock();
        }
        waiter.join();
    }

    /** Nobody waits: one after another. */
    public void takeInTurn() throws InterruptedException {
        Thread other = new Thread(this::get, "worker");
        other.start();
        other.join();
        get();
    }

    /** First one lock and then the other, and in another thread the other way round. */
    public void takeInBothOrders() throws InterruptedException {
        takeBoth(first, second);
        Thread other = new Thread(() -> takeBoth(second, first), "other way round");
        other.start();
        other.join();
    }

    /** Always in the same order. */
    public void takeInOneOrder() throws InterruptedException {
        takeBoth(first, second);
        Thread other = new Thread(() -> takeBoth(first, second), "same way");
        other.start();
        other.join();
    }

    private static void takeBoth(Object outer, Object inner) {
        synchronized (outer) {
            synchronized (inner) {
                outer.notifyAll();
            }
        }
    }

    private void get() {
        cacheLock.lock();
        cacheLock.unlock();
    }

    private void hold(CountDownLatch held, long millis) {
        cacheLock.lock();
        try {
            held.countDown();
            await(millis);
        } finally {
            cacheLock.unlock();
        }
    }

    /** Until somebody waits, and so long after that. */
    private void await(long millis) {
        try {
            while (!cacheLock.hasQueuedThreads()) {
                Thread.sleep(1);
            }
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
