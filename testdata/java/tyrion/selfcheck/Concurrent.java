package tyrion.selfcheck;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Uses of java.util.concurrent's locks that are legal and unlike those of monitors. */
final class Concurrent implements SelfCheck.Check {
    @Override
    public void run() throws Exception {
        for (int i = 0; i < 100; i++) {
            handOverHand();
            outOfOrder();
            downgrade();
            convert();
            permitsOfOthers();
        }
        manyReaders();
    }

    private static void handOverHand() {
        ReentrantLock[] chain = new ReentrantLock[10];
        for (int i = 0; i < chain.length; i++) {
            chain[i] = new ReentrantLock();
        }
        chain[0].lock();
        for (int i = 1; i < chain.length; i++) {
            chain[i].lock();
            chain[i - 1].unlock();
            Locked.check(!chain[i - 1].isLocked() && chain[i].isHeldByCurrentThread(), "in hand");
        }
        chain[chain.length - 1].unlock();
        Locked.check(!chain[chain.length - 1].isLocked(), "the last of the chain");
    }

    private static void outOfOrder() {
        ReentrantLock lock = new ReentrantLock();
        Object monitor = new Object();
        lock.lock();
        synchronized (monitor) {
            lock.unlock();
            lock.lock();
            lock.lock();
        }
        lock.unlock();
        Locked.check(lock.getHoldCount() == 1 && !Thread.holdsLock(monitor), "out of order");
        lock.unlock();
        Locked.check(!lock.isLocked(), "after it");
    }

    private static void downgrade() {
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        both.writeLock().lock();
        both.readLock().lock();
        both.writeLock().unlock();
        Locked.check(both.getReadHoldCount() == 1 && !both.isWriteLocked(), "downgraded");
        Locked.check(!both.writeLock().tryLock(), "a reader has it");
        both.readLock().unlock();
        Locked.check(both.writeLock().tryLock(), "nobody has it");
        both.writeLock().unlock();
    }

    private static void convert() {
        StampedLock lock = new StampedLock();
        long stamp = lock.tryOptimisticRead();
        Locked.check(lock.validate(stamp), "optimistic");
        stamp = lock.tryConvertToReadLock(stamp);
        Locked.check(stamp != 0 && lock.isReadLocked(), "to a read lock");
        stamp = lock.tryConvertToWriteLock(stamp);
        Locked.check(stamp != 0 && lock.isWriteLocked(), "to a write lock");
        Locked.check(lock.tryReadLock() == 0, "exclusive");
        stamp = lock.tryConvertToReadLock(stamp);
        Locked.check(stamp != 0 && lock.getReadLockCount() == 1, "back to a read lock");
        stamp = lock.tryConvertToOptimisticRead(stamp);
        Locked.check(stamp != 0 && !lock.isReadLocked(), "released");
        lock.asReadWriteLock().writeLock().lock();
        Locked.check(lock.isWriteLocked(), "through the view");
        lock.asReadWriteLock().writeLock().unlock();
        lock.asReadLock().lock();
        lock.asReadLock().unlock();
        Locked.check(!lock.isWriteLocked() && !lock.isReadLocked(), "after all");
    }

    /** Permits have no owner: one thread acquires, another releases. */
    private static void permitsOfOthers() throws InterruptedException {
        Semaphore permits = new Semaphore(0);
        Thread giver = new Thread(() -> {
            permits.release();
            permits.release(2);
        });
        giver.start();
        permits.acquire(3);
        giver.join();
        Locked.check(permits.availablePermits() == 0, "all taken");
        permits.release(5);
        Locked.check(permits.drainPermits() == 5 && !permits.tryAcquire(), "drained");
    }

    private static void manyReaders() throws InterruptedException {
        ReentrantReadWriteLock both = new ReentrantReadWriteLock(true);
        for (int i = 0; i < 200; i++) {
            both.readLock().lock();
        }
        Locked.check(Locked.otherDoes(() -> {
            both.readLock().lock();
            both.readLock().unlock();
        }, 20, TimeUnit.SECONDS), "readers share");
        for (int i = 0; i < 200; i++) {
            Locked.check(both.getReadHoldCount() == 200 - i, "the readers' holds");
            both.readLock().unlock();
        }
        Locked.check(both.writeLock().tryLock(1, TimeUnit.SECONDS), "no reader is left");
        both.writeLock().unlock();
        Locked.free(both.writeLock(), "at last");
    }
}
