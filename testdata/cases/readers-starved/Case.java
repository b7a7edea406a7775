import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Replays its journal under the write lock, entry by entry; queries hardly ever get the read lock. */
public class Case {
    static final LongAdder queries = new LongAdder();
    static final LongAdder waitedNanos = new LongAdder();
    static final LongAdder replayed = new LongAdder();

    static final class Catalog {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private long tables = 1;

        void replay() throws InterruptedException {
            lock.writeLock().lock();
            try {
                TimeUnit.MILLISECONDS.sleep(10); // reads the entry from the journal
                tables++;
            } finally {
                lock.writeLock().unlock();
            }
        }

        long listTables() {
            long start = System.nanoTime();
            lock.readLock().lock();
            try {
                return tables;
            } finally {
                lock.readLock().unlock();
                waitedNanos.add(System.nanoTime() - start);
                queries.increment();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Catalog catalog = new Catalog();
        Thread writer = new Thread(() -> {
            try {
                while (true) {
                    catalog.replay();
                    replayed.increment();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "replayer");
        writer.setDaemon(true);
        writer.start();
        for (int i = 0; i < 6; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (true) {
                        catalog.listTables();
                        TimeUnit.MILLISECONDS.sleep(5); // the answer goes to the client
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }, "query-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: replayed=" + replayed.sum() + " of_10_ms_each");
        System.out.println("proof: queries=" + queries.sum() + " waited_s=" + waitedNanos.sum() / 1e9 + " of_s=" + 6 * measured);
        Runtime.getRuntime().halt(0);
    }
}
