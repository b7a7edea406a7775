package tyrion.selfcheck;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Four threads that count without a lost step, under each kind of lock. */
final class Exclusion implements SelfCheck.Check {
    private static final int THREADS = 4;
    private static final int STEPS = 20_000;

    private static long staticCounter;

    private final Object lock = new Object();
    private final StampedLock stamped = new StampedLock();
    private final Semaphore permits = new Semaphore(1);
    private long counter;

    @Override
    public void run() throws Exception {
        count("blocks", this::block);
        count("methods", this::method);
        count("fair", () -> locked(FAIR));
        count("locks", () -> locked(UNFAIR));
        count("write locks", () -> locked(WRITE));
        count("stamps", this::stamped);
        count("permits", this::permitted);
        staticCounter = 0;
        inThreads(Exclusion::staticMethod);
        Locked.check(staticCounter == THREADS * STEPS, "static methods: " + staticCounter);
    }

    private static final Lock FAIR = new ReentrantLock(true);
    private static final Lock UNFAIR = new ReentrantLock();
    private static final Lock WRITE = new ReentrantReadWriteLock().writeLock();

    private void count(String what, Runnable step) throws InterruptedException {
        counter = 0;
        inThreads(step);
        Locked.check(counter == (long) THREADS * STEPS, what + ": " + counter);
    }

    private static void inThreads(Runnable step) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> {
                for (int n = 0; n < STEPS; n++) {
                    step.run();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void block() {
        synchronized (lock) {
            counter++;
        }
    }

    private synchronized void method() {
        counter++;
    }

    private static synchronized void staticMethod() {
        staticCounter++;
    }

    private void locked(Lock taken) {
        taken.lock();
        try {
            counter++;
        } finally {
            taken.unlock();
        }
    }

    private void stamped() {
        long stamp = stamped.writeLock();
        try {
            counter++;
        } finally {
            stamped.unlockWrite(stamp);
        }
    }

    private void permitted() {
        permits.acquireUninterruptibly();
        try {
            counter++;
        } finally {
            permits.release();
        }
    }
}
