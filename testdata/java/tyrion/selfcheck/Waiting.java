package tyrion.selfcheck;

import java.util.concurrent.CountDownLatch;

/** {@link Object#wait}: notified, timed out and interrupted, once and several times entered. */
final class Waiting implements SelfCheck.Check {
    private final Object lock = new Object();
    private boolean ready;
    private int woken;

    @Override
    public void run() throws Exception {
        timesOut();
        notified();
        interrupted();
        interruptedBefore();
        inMethod();
        giveUpAll();
    }

    private void timesOut() throws InterruptedException {
        synchronized (lock) {
            synchronized (lock) {
                lock.wait(5);
                Locked.held(lock, "after a wait that timed out");
            }
            Locked.held(lock, "having left once after the wait");
        }
        Locked.free(lock, "after a wait that timed out");
    }

    private void notified() throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(3);
        Thread[] waiters = new Thread[3];
        for (int i = 0; i < waiters.length; i++) {
            waiters[i] = new Thread(() -> {
                synchronized (lock) {
                    inside.countDown();
                    while (!ready) {
                        try {
                            lock.wait();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                        Locked.has(lock, "after a notification");
                    }
                    woken++;
                }
            });
            waiters[i].start();
        }
        inside.await();
        synchronized (lock) {
            ready = true;
            lock.notify();
            lock.notifyAll();
        }
        for (Thread waiter : waiters) {
            waiter.join();
        }
        synchronized (lock) {
            Locked.check(woken == 3, "woken: " + woken);
        }
        Locked.free(lock, "after notifications");
    }

    private void interrupted() throws InterruptedException {
        boolean[] right = new boolean[1];
        CountDownLatch inside = new CountDownLatch(1);
        Thread waiter = new Thread(() -> {
            synchronized (lock) {
                inside.countDown();
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    right[0] = Thread.holdsLock(lock);
                }
            }
            right[0] &= !Thread.holdsLock(lock);
        });
        waiter.start();
        inside.await();
        synchronized (lock) {
            waiter.interrupt();
            Locked.held(lock, "while an interrupted waiter wants it");
        }
        waiter.join();
        Locked.check(right[0], "an interrupted waiter has the lock, and gives it back");
        Locked.free(lock, "after an interrupted wait");
    }

    private void interruptedBefore() {
        Thread.currentThread().interrupt();
        try {
            synchronized (lock) {
                lock.wait();
            }
            throw new SelfCheck.Wrong("not interrupted");
        } catch (InterruptedException e) {
            Locked.check(!Thread.holdsLock(lock), "held after an interrupt");
        }
        Locked.free(lock, "after an interrupt that came before the wait");
    }

    private void inMethod() throws InterruptedException {
        waitInMethod(3);
        Locked.free(this, "after a wait in a method");
    }

    private synchronized void waitInMethod(int depth) throws InterruptedException {
        if (depth > 0) {
            waitInMethod(depth - 1);
        } else {
            wait(5);
        }
        Locked.held(this, "in a method that waited");
    }

    /** A wait inside two other locks gives up one, and keeps the others. */
    private void giveUpAll() throws InterruptedException {
        Object other = new Object();
        synchronized (other) {
            synchronized (lock) {
                boolean[] taken = new boolean[1];
                Thread taker = new Thread(() -> {
                    synchronized (lock) {
                        taken[0] = true;
                        lock.notifyAll();
                    }
                });
                taker.start();
                while (!taken[0]) {
                    lock.wait(50);
                }
                taker.join();
                Locked.held(other, "the outer lock in a wait");
            }
        }
        Locked.free(other, "the outer lock");
        Locked.free(lock, "the inner lock");
    }
}
