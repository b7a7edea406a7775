package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import tyrion.support.Json;

/**
 * {@code under-way}: threads "waiter-lock", "waiter-read", "waiter-semaphore", "waiter-condition",
 * "waiter-latch" and "waiter-park" wait, each once, until there is a file {@code
 * -Dtruth.until=FILE}. "holder" has the locks. Prints "waiting" once all of them wait.
 */
final class UnderWay implements Scenario {
    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
    private final Semaphore semaphore = new Semaphore(1);
    private final ReentrantLock guard = new ReentrantLock();
    private final Condition signal = guard.newCondition();
    private final CountDownLatch latch = new CountDownLatch(1);
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch mayLeave = new CountDownLatch(1);
    private boolean isSignalled;
    private volatile boolean isUnparked;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Thread holder = Threads.start("holder", this::hold);
        held.await();
        Thread parked = Threads.start("waiter-park", this::park);
        List<Thread> waiters = new ArrayList<>(Arrays.asList(parked));
        waiters.add(Threads.start("waiter-lock", lock::lock));
        waiters.add(Threads.start("waiter-read", readWrite.readLock()::lock));
        waiters.add(Threads.start("waiter-semaphore", semaphore::acquireUninterruptibly));
        waiters.add(Threads.start("waiter-condition", this::awaitSignal));
        waiters.add(Threads.start("waiter-latch", () -> Threads.await(latch)));
        for (Thread waiter : waiters) {
            Threads.awaitWaiting(waiter);
        }
        System.out.println("waiting");
        System.out.flush();
        Path until = Paths.get(System.getProperty("truth.until"));
        while (!Files.exists(until)) {
            Threads.sleepMillis(10);
        }
        mayLeave.countDown();
        latch.countDown();
        isUnparked = true;
        LockSupport.unpark(parked);
        guard.lock();
        isSignalled = true;
        signal.signalAll();
        guard.unlock();
        Threads.join(holder);
        Threads.join(waiters);
        report.put("waiters", waiters.size());
    }

    private void hold() {
        lock.lock();
        readWrite.writeLock().lock();
        semaphore.acquireUninterruptibly();
        held.countDown();
        Threads.await(mayLeave);
        semaphore.release();
        readWrite.writeLock().unlock();
        lock.unlock();
    }

    private void park() {
        while (!isUnparked) {
            LockSupport.park();
        }
    }

    private void awaitSignal() {
        guard.lock();
        while (!isSignalled) {
            signal.awaitUninterruptibly();
        }
        guard.unlock();
    }
}
