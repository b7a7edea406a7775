import com.mongodb.internal.connection.ConcurrentPool;
import java.util.ArrayList;
import java.util.List;

/** Operations take a connection each from a pool that has more than enough of them. */
public class Case {
    static volatile boolean stop;

    static final class Connection {
        long requests;
    }

    static final class Operation extends Thread {
        final ConcurrentPool<Connection> pool;
        long done;
        long waitedNanos;

        Operation(ConcurrentPool<Connection> pool, int number) {
            super("operation-" + number);
            setDaemon(true);
            this.pool = pool;
        }

        void runCommand() {
            long start = System.nanoTime();
            Connection connection = pool.get();
            connection.requests++;
            pool.release(connection);
            waitedNanos += System.nanoTime() - start;
        }

        @Override
        public void run() {
            while (!stop) {
                runCommand();
                done++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        ConcurrentPool<Connection> pool = new ConcurrentPool<>(200, new ConcurrentPool.ItemFactory<Connection>() {
            @Override
            public Connection create() {
                return new Connection();
            }

            @Override
            public void close(Connection connection) {
            }

            @Override
            public ConcurrentPool.Prune shouldPrune(Connection connection) {
                return ConcurrentPool.Prune.NO;
            }
        });
        java.lang.reflect.Method ready = ConcurrentPool.class.getDeclaredMethod("ready");
        ready.setAccessible(true);
        ready.invoke(pool);
        List<Operation> threads = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            threads.add(new Operation(pool, i));
        }
        long start = System.nanoTime();
        threads.forEach(Thread::start);
        long looks = 0;
        long waiting = 0;
        while (System.nanoTime() < end) {
            Thread.sleep(20);
            for (Thread thread : threads) {
                looks++;
                if (thread.getState() == Thread.State.WAITING) {
                    waiting++;
                }
            }
        }
        stop = true;
        System.out.println("proof: operations=" + threads.stream().mapToLong(t -> t.done).sum() + " connections=" + pool.getCount());
        System.out.println("proof: share_of_looks_parked=" + (double) waiting / looks);
        System.out.println("proof: in_pool_s=" + threads.stream().mapToLong(t -> t.waitedNanos).sum() / 1e9 + " of_s=" + 24 * (System.nanoTime() - start) / 1e9);
        Runtime.getRuntime().halt(0);
    }
}
