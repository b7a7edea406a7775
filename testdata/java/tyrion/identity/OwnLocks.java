package tyrion.identity;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Locks of classes of the program's own, views of one lock, and those inside of a map of the JDK. */
public final class OwnLocks {
    /** As maps are made that have a lock for each part of them. */
    static final class Segment extends ReentrantLock {
        private static final long serialVersionUID = 1;

        void put() {
            this.lock();
            try {
                Account.at(this, 1);
            } finally {
                unlock();
            }
        }
    }

    /** A lock that counts how often it was taken. */
    static final class CountingLock extends ReentrantLock {
        private static final long serialVersionUID = 1;
        private long count;

        @Override
        public void lock() {
            super.lock();
            count++;
        }
    }

    private static final int TURNS = 3;

    private final Segment[] segments = {new Segment(), new Segment()};
    private final CountingLock counting = new CountingLock();
    private final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
    private final ReentrantReadWriteLock.ReadLock r = rw.readLock();
    private final ReentrantReadWriteLock.WriteLock w = rw.writeLock();
    private final Object[] locks = {new Object(), new Object()};
    private final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    void segment(int nth) {
        segments[nth].put();
    }

    void segmentLocked(int nth) {
        segments[nth].lock();
        try {
            Account.at(segments[nth], 2);
        } finally {
            segments[nth].unlock();
        }
    }

    void counting() {
        counting.lock();
        try {
            // The lock is taken elsewhere: not a place of this class alone.
            Account.met(counting, 3);
        } finally {
            counting.unlock();
        }
    }

    void read() {
        r.lock();
        try {
            Account.at(rw, 4);
        } finally {
            r.unlock();
        }
    }

    void write() {
        w.lock();
        try {
            Account.at(rw, 5);
        } finally {
            w.unlock();
        }
    }

    void array(int nth) {
        synchronized (locks[nth]) { Account.at(locks[nth], 6); }
    }

    /** Keeps the bin's lock while it computes. */
    private void bins() throws InterruptedException {
        map.put("key", 1);
        for (int turn = 0; turn < TURNS; turn++) {
            Keeper keeper = new Keeper("bin-holder");
            keeper.body = () -> map.compute("key", (key, value) -> keeper.keep(value));
            keeper.start();
            Actor.await(() -> keeper.isIn);
            Thread waiter = new Thread(() -> map.compute("key", (key, value) -> value + 1), "bin-waiter");
            waiter.start();
            Actor.await(() -> waitsForBin(waiter));
            keeper.released = true;
            keeper.join();
            waiter.join();
        }
    }

    /** Not for a class that its lambda needs, for example. */
    private static boolean waitsForBin(Thread thread) {
        ThreadInfo info = ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId());
        LockInfo lock = info == null ? null : info.getLockInfo();
        return lock != null && lock.getClassName().startsWith("java.util.concurrent.ConcurrentHashMap$");
    }

    /** Stays in a function of the map. */
    private static final class Keeper extends Thread {
        private Runnable body;
        private volatile boolean isIn;
        private volatile boolean released;

        Keeper(String name) {
            super(name);
        }

        @Override
        public void run() {
            body.run();
        }

        Integer keep(Integer value) {
            isIn = true;
            Actor.await(() -> released);
            return value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Account.begin();
        OwnLocks it = new OwnLocks();
        for (int turn = 0; turn < TURNS; turn++) {
            Account.contend(() -> it.segment(0), () -> it.segment(0));
            Account.contend(() -> it.segmentLocked(1), () -> it.segmentLocked(1));
            Account.contend(it::counting, it::counting);
            Account.contend(it::write, it::read);
            Account.contend(it::read, it::write);
            Account.contend(it::write, it::write);
            Account.contend(() -> it.array(0), () -> it.array(0));
            if (turn > 0) {
                Account.contend(() -> it.array(1), () -> it.array(1));
            }
        }
        it.bins();
        Account.end();
    }
}
