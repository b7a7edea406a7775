package tyrion.selfcheck;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** What a program must not do with locks: it gets the exception that it would get anyway. */
final class Illegal implements SelfCheck.Check {
    private Object nothing;

    @Override
    public void run() throws Exception {
        for (int i = 0; i < 50; i++) {
            thrown(() -> {
                synchronized (nothing) {
                    throw new SelfCheck.Wrong("entered null");
                }
            }, NullPointerException.class);
            thrown(new Object()::notify, IllegalMonitorStateException.class);
            thrown(() -> waitWithout(new Object()), IllegalMonitorStateException.class);
            thrown(() -> new ReentrantLock().unlock(), IllegalMonitorStateException.class);
            thrown(() -> new ReentrantReadWriteLock().readLock().unlock(),
                    IllegalMonitorStateException.class);
            thrown(() -> new ReentrantReadWriteLock().writeLock().unlock(),
                    IllegalMonitorStateException.class);
            thrown(() -> new StampedLock().unlockWrite(42), IllegalMonitorStateException.class);
            thrown(() -> new Semaphore(1).acquireUninterruptibly(-1),
                    IllegalArgumentException.class);
        }
        othersLock();
        interruptedLock();
    }

    private static void thrown(Runnable body, Class<? extends Throwable> type) {
        Throwable thrown = Locked.thrownBy(body);
        Locked.check(type.isInstance(thrown), "threw " + thrown + ", not " + type);
    }

    private static void waitWithout(Object lock) {
        try {
            lock.wait(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** To unlock what another thread has is refused, and changes nothing. */
    private static void othersLock() {
        ReentrantLock lock = new ReentrantLock();
        lock.lock();
        Throwable[] thrown = new Throwable[1];
        Locked.check(Locked.otherDoes(
                () -> thrown[0] = Locked.thrownBy(lock::unlock), 20, TimeUnit.SECONDS), "refused");
        Locked.check(thrown[0] instanceof IllegalMonitorStateException, "threw " + thrown[0]);
        Locked.check(lock.getHoldCount() == 1, "still held");
        lock.unlock();
        Locked.free(lock, "the lock that another wanted to unlock");
    }

    private static void interruptedLock() {
        ReentrantLock lock = new ReentrantLock();
        Thread.currentThread().interrupt();
        try {
            lock.lockInterruptibly();
            throw new SelfCheck.Wrong("not interrupted");
        } catch (InterruptedException e) {
            Locked.check(!lock.isHeldByCurrentThread(), "held after an interrupt");
        }
        Thread.currentThread().interrupt();
        try {
            lock.tryLock(1, TimeUnit.SECONDS);
            throw new SelfCheck.Wrong("not interrupted");
        } catch (InterruptedException e) {
            Locked.check(!lock.isHeldByCurrentThread(), "held after an interrupt");
        }
        Locked.free(lock, "the lock after interrupts");
    }
}
