package tyrion.selfcheck;

import java.util.Date;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Conditions: awaited in every way, once and twice locked, signalled and interrupted. */
final class Conditions implements SelfCheck.Check {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition condition = lock.newCondition();
    private boolean ready;

    @Override
    public void run() throws Exception {
        timesOut();
        signalled(() -> condition.await());
        signalled(() -> condition.awaitUninterruptibly());
        signalled(() -> condition.await(1, TimeUnit.HOURS));
        interrupted();
        withoutLock();
        ofWriteLock();
    }

    /** A way to await. */
    private interface Awaiting {
        void await() throws InterruptedException;
    }

    private void timesOut() throws InterruptedException {
        lock.lock();
        lock.lock();
        Locked.check(!condition.await(2, TimeUnit.MILLISECONDS), "await in ms");
        Locked.check(condition.awaitNanos(100_000) <= 0, "await in ns");
        Locked.check(!condition.awaitUntil(new Date(System.currentTimeMillis() + 2)), "a date");
        Locked.check(lock.getHoldCount() == 2, "held " + lock.getHoldCount() + " times");
        lock.unlock();
        Locked.check(lock.isHeldByCurrentThread(), "held once");
        lock.unlock();
        Locked.free(lock, "after awaits that timed out");
    }

    private void signalled(Awaiting awaiting) throws InterruptedException {
        ready = false;
        CountDownLatch inside = new CountDownLatch(1);
        boolean[] right = new boolean[1];
        Thread waiter = new Thread(() -> {
            lock.lock();
            try {
                inside.countDown();
                while (!ready) {
                    awaiting.await();
                }
                right[0] = lock.getHoldCount() == 1;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                lock.unlock();
            }
        });
        waiter.start();
        inside.await();
        lock.lock();
        ready = true;
        condition.signal();
        lock.unlock();
        waiter.join();
        Locked.check(right[0], "what a signalled waiter holds");
        Locked.free(lock, "after a signal");
    }

    private void interrupted() throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(1);
        boolean[] right = new boolean[1];
        Thread waiter = new Thread(() -> {
            lock.lock();
            try {
                inside.countDown();
                condition.await();
            } catch (InterruptedException e) {
                right[0] = lock.isHeldByCurrentThread();
            } finally {
                lock.unlock();
            }
        });
        waiter.start();
        inside.await();
        lock.lock();
        waiter.interrupt();
        lock.unlock();
        waiter.join();
        Locked.check(right[0], "an interrupted waiter has the lock");
        Locked.free(lock, "after an interrupted await");
    }

    private void withoutLock() {
        Throwable thrown = Locked.thrownBy(() -> {
            try {
                condition.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        Locked.check(thrown instanceof IllegalMonitorStateException, "threw " + thrown);
        Locked.free(lock, "after an await without the lock");
    }

    private static void ofWriteLock() throws InterruptedException {
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        Condition condition = both.writeLock().newCondition();
        both.writeLock().lock();
        condition.await(2, TimeUnit.MILLISECONDS);
        Locked.check(both.getWriteHoldCount() == 1, "the write lock after an await");
        both.writeLock().unlock();
        Locked.free(both.writeLock(), "after an await of a writer");
    }
}
