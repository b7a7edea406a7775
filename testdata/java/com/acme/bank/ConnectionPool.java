package com.acme.bank;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A few connections to the database, fewer than tellers. A fair semaphore counts the free ones, a
 * lock guards their list. The second place to wait in this bank, far behind the audit log.
 */
final class ConnectionPool {
    private final Semaphore free;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Connection> idle = new ArrayDeque<>();

    ConnectionPool(int size) {
        free = new Semaphore(size, true);
        for (int i = 0; i < size; i++) {
            idle.push(new Connection());
        }
    }

    Connection borrow() {
        free.acquireUninterruptibly();
        lock.lock();
        try {
            return idle.pop();
        } finally {
            lock.unlock();
        }
    }

    void giveBack(Connection connection) {
        lock.lock();
        try {
            idle.push(connection);
        } finally {
            lock.unlock();
        }
        free.release();
    }

    /** A connection to a database that is not there. */
    static final class Connection {
        private static final long ROUND_TRIP_NANOS = 100_000;

        /** Waits for an answer from the database. */
        void roundTrip() {
            LockSupport.parkNanos(ROUND_TRIP_NANOS);
        }
    }
}
