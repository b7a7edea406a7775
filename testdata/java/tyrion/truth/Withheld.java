package tyrion.truth;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code withheld [ROUNDS]}: threads that wait for no lock, one part after the other.
 *
 * <ul>
 *   <li>"borrower-1" to "borrower-8" share the two connections of a pool, ROUNDS times each, and
 *       keep one until somebody else wants it: once a pool of {@link Object#wait}, once one of a
 *       {@link Condition} ("lender-1" to "lender-8").
 *   <li>"client-1" to "client-4" lock a row as databases do: who comes later waits for the
 *       transaction that has it to end.
 *   <li>"filler" puts into a queue that has room for one.
 *   <li>"reader" takes from a {@link LinkedBlockingQueue}, and "fetcher" from a queue of the
 *       program's own.
 *   <li>"ticker" waits for time.
 *   <li>"main" waits once, for an end.
 * </ul>
 *
 * <p>{@code borrow_waits}, {@code lend_waits}, {@code row_waits}, {@code fetch_waits}, {@code
 * tick_waits}: how often {@code Object.wait} or {@code await} was called; and, ending in {@code
 * _wait_ns}, how long that took by the clock of the waiting threads.
 */
final class Withheld implements Scenario {
    private static final int BORROWERS = 8;
    private static final int CONNECTIONS = 2;
    private static final int CLIENTS = 4;
    private static final int PIECES = 30;
    private static final int TICK_MILLIS = 3;

    private int rounds;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        rounds = arguments.number(0, 25);
        share(new MonitorPool(), "borrower-").report(report, "borrow");
        share(new ConditionPool(), "lender-").report(report, "lend");
        lockRows().report(report, "row");
        fetch().report(report, "fetch");
        Sum.of(Arrays.asList(new Ticker()), "ticker").report(report, "tick");
        fill();
        read();
        CountDownLatch end = new CountDownLatch(1);
        Thread main = Thread.currentThread();
        Thread opener = Threads.start("opener", () -> {
            Threads.awaitWaiting(main);
            end.countDown();
        });
        awaitEnd(end);
        Threads.join(opener);
    }

    private static void awaitEnd(CountDownLatch end) throws InterruptedException {
        end.await();
    }

    /** The waits of one thread. */
    private abstract static class Waiter implements Runnable {
        private long count;
        private long nanos;

        final void waitedSince(long begin) {
            count++;
            nanos += System.nanoTime() - begin;
        }

        final boolean hasWaited() {
            return count > 0;
        }
    }

    /** The waits of several threads. */
    private static final class Sum {
        private long count;
        private long nanos;

        /** Runs each in a thread of its own to its end. */
        static Sum of(List<? extends Waiter> waiters, String name) {
            List<Thread> threads = new ArrayList<>();
            for (Waiter waiter : waiters) {
                String number = waiters.size() == 1 ? "" : String.valueOf(threads.size() + 1);
                threads.add(Threads.start(name + number, waiter));
            }
            Threads.join(threads);
            Sum sum = new Sum();
            for (Waiter waiter : waiters) {
                sum.count += waiter.count;
                sum.nanos += waiter.nanos;
            }
            return sum;
        }

        void report(Json report, String name) {
            report.put(name + "_waits", count).put(name + "_wait_ns", nanos);
        }
    }

    /** Connections, and threads that want them. */
    private abstract static class Pool {
        int free = CONNECTIONS;
        /** How many wait: read by those who have a connection. */
        volatile int waiting;
        /** How often one was taken: read by those who have given theirs back. */
        volatile int taken;

        abstract void borrow(Waiter borrower) throws InterruptedException;

        abstract void giveBack();
    }

    private static final class MonitorPool extends Pool {
        @Override
        synchronized void borrow(Waiter borrower) throws InterruptedException {
            while (free == 0) {
                waiting++;
                long begin = System.nanoTime();
                wait(); // WAIT
                borrower.waitedSince(begin);
                waiting--;
            }
            free--;
            taken++;
        }

        @Override
        synchronized void giveBack() {
            free++;
            notify();
        }
    }

    private static final class ConditionPool extends Pool {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition freed = lock.newCondition();

        @Override
        void borrow(Waiter borrower) throws InterruptedException {
            lock.lock();
            try {
                while (free == 0) {
                    waiting++;
                    long begin = System.nanoTime();
                    freed.await(); // WAIT
                    borrower.waitedSince(begin);
                    waiting--;
                }
                free--;
                taken++;
            } finally {
                lock.unlock();
            }
        }

        @Override
        void giveBack() {
            lock.lock();
            try {
                free++;
                freed.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    private static final class Borrower extends Waiter {
        private final Pool pool;
        private final int rounds;
        private final AtomicInteger active;

        Borrower(Pool pool, int rounds, AtomicInteger active) {
            this.pool = pool;
            this.rounds = rounds;
            this.active = active;
        }

        @Override
        public void run() {
            try {
                // Each of them waits, be it long after the others have begun to.
                for (int i = 0; i < rounds || !hasWaited() && isCrowded(); i++) {
                    pool.borrow(this);
                    useConnection();
                    int taken = pool.taken;
                    pool.giveBack();
                    // Another one comes first.
                    while (pool.taken == taken && isCrowded()) {
                        Threads.sleepMillis(1);
                    }
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            active.decrementAndGet();
        }

        /** Until it is wanted elsewhere; there is one for each of the last ones. */
        private void useConnection() {
            do {
                Threads.sleepMillis(1);
            } while (pool.waiting == 0 && isCrowded());
        }

        private boolean isCrowded() {
            return active.get() > CONNECTIONS;
        }
    }

    private Sum share(Pool pool, String name) {
        AtomicInteger active = new AtomicInteger(BORROWERS);
        List<Borrower> borrowers = new ArrayList<>();
        for (int i = 0; i < BORROWERS; i++) {
            borrowers.add(new Borrower(pool, rounds, active));
        }
        return Sum.of(borrowers, name);
    }

    private static final class Transaction {
        private boolean hasEnded;
        volatile int waiting;

        synchronized void awaitEnd(Waiter waiter) throws InterruptedException {
            while (!hasEnded) {
                waiting++;
                long begin = System.nanoTime();
                wait(); // WAIT
                waiter.waitedSince(begin);
                waiting--;
            }
        }

        synchronized void end() {
            hasEnded = true;
            notifyAll();
        }
    }

    private static final class Row {
        private Transaction owner;
        /** How often it was locked. */
        volatile int taken;

        void lock(Transaction mine, Waiter waiter) throws InterruptedException {
            Transaction other = ownerUnlessFree(mine);
            while (other != null) {
                other.awaitEnd(waiter);
                other = ownerUnlessFree(mine);
            }
        }

        private synchronized Transaction ownerUnlessFree(Transaction mine) {
            if (owner == null) {
                owner = mine;
                taken++;
                return null;
            }
            return owner;
        }

        void unlock(Transaction mine) {
            synchronized (this) {
                owner = null;
            }
            mine.end();
        }
    }

    private static final class Client extends Waiter {
        private final Row row;
        private final int rounds;
        private final AtomicInteger active;

        Client(Row row, int rounds, AtomicInteger active) {
            this.row = row;
            this.rounds = rounds;
            this.active = active;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < rounds || !hasWaited() && active.get() > 1; i++) {
                    Transaction mine = new Transaction();
                    row.lock(mine, this);
                    do {
                        Threads.sleepMillis(1);
                    } while (mine.waiting == 0 && active.get() > 1);
                    int taken = row.taken;
                    row.unlock(mine);
                    while (row.taken == taken && active.get() > 1) {
                        Threads.sleepMillis(1);
                    }
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            active.decrementAndGet();
        }
    }

    private Sum lockRows() {
        AtomicInteger active = new AtomicInteger(CLIENTS);
        Row row = new Row();
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(new Client(row, rounds, active));
        }
        return Sum.of(clients, "client-");
    }

    /** A queue of the program's own. */
    private static final class Inbox {
        private final Deque<Integer> pieces = new ArrayDeque<>();
        volatile boolean isAwaited;

        synchronized int next(Waiter waiter) throws InterruptedException {
            while (pieces.isEmpty()) {
                isAwaited = true;
                long begin = System.nanoTime();
                wait(); // WAIT
                waiter.waitedSince(begin);
                isAwaited = false;
            }
            return pieces.remove();
        }

        synchronized void add(int piece) {
            pieces.add(piece);
            notify();
        }
    }

    private static final class Fetcher extends Waiter {
        private final Inbox inbox;

        Fetcher(Inbox inbox) {
            this.inbox = inbox;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < PIECES; i++) {
                    inbox.next(this);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static Sum fetch() {
        Inbox inbox = new Inbox();
        Fetcher fetcher = new Fetcher(inbox);
        Thread feeder = Threads.start("feeder", () -> {
            for (int i = 0; i < PIECES; i++) {
                do {
                    Threads.sleepMillis(2);
                } while (!inbox.isAwaited);
                inbox.add(i);
            }
        });
        Sum waits = Sum.of(Arrays.asList(fetcher), "fetcher");
        Threads.join(feeder);
        return waits;
    }

    private static final class Ticker extends Waiter {
        @Override
        public void run() {
            Object nobody = new Object();
            try {
                for (int i = 0; i < PIECES; i++) {
                    synchronized (nobody) {
                        long begin = System.nanoTime();
                        nobody.wait(TICK_MILLIS); // WAIT
                        waitedSince(begin);
                    }
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static final class Filler implements Runnable {
        private final BlockingQueue<Integer> room;

        Filler(BlockingQueue<Integer> room) {
            this.room = room;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < PIECES; i++) {
                    room.put(i);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void fill() throws InterruptedException {
        BlockingQueue<Integer> room = new ArrayBlockingQueue<>(1);
        Thread filler = Threads.start("filler", new Filler(room));
        for (int i = 0; i < PIECES; i++) {
            if (i < PIECES - 1) {
                Threads.awaitWaiting(filler);
                // It may have waited for long, or only just begun.
                Threads.sleepMillis(2);
            }
            // It never waits itself: that would be an idle wait of main's.
            while (room.poll() == null) {
                Threads.sleepMillis(1);
            }
        }
        Threads.join(filler);
    }

    private static final class Reader implements Runnable {
        private final BlockingQueue<Integer> pieces;

        Reader(BlockingQueue<Integer> pieces) {
            this.pieces = pieces;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < PIECES; i++) {
                    pieces.take();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void read() {
        BlockingQueue<Integer> pieces = new LinkedBlockingQueue<>();
        Thread reader = Threads.start("reader", new Reader(pieces));
        for (int i = 0; i < PIECES; i++) {
            // What came before may still have to be taken.
            while (!pieces.isEmpty()) {
                Threads.sleepMillis(1);
            }
            Threads.awaitWaiting(reader);
            pieces.add(i);
        }
        Threads.join(reader);
    }
}
