import com.mchange.v2.c3p0.ComboPooledDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.util.concurrent.atomic.AtomicInteger;

/** Saving an order takes a second connection for its number, while the first one has the transaction. */
public class Case {
    static final AtomicInteger saved = new AtomicInteger();
    static final AtomicInteger numbers = new AtomicInteger();
    static volatile long lastSaved;

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        System.setProperty("com.mchange.v2.log.MLog", "com.mchange.v2.log.FallbackMLog");
        System.setProperty("com.mchange.v2.log.FallbackMLog.DEFAULT_CUTOFF_LEVEL", "WARNING");
        ComboPooledDataSource pool = new ComboPooledDataSource();
        pool.setJdbcUrl("jdbc:h2:mem:clinic;DB_CLOSE_DELAY=-1");
        pool.setUser("sa");
        pool.setPassword("");
        pool.setMinPoolSize(2);
        pool.setMaxPoolSize(args.length > 1 ? Integer.parseInt(args[1]) : 6);
        try (Connection c = pool.getConnection()) {
            c.createStatement().execute("CREATE TABLE orders(number INT PRIMARY KEY, drug VARCHAR(99))");
        }
        lastSaved = start;
        Thread[] threads = new Thread[10];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> serve(pool, number), "ward-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        int waiting = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            Thread.sleep(100);
            for (Thread thread : threads) {
                seen++;
                for (StackTraceElement element : thread.getStackTrace()) {
                    waiting += element.getMethodName().equals("awaitAvailable") ? 1 : 0;
                }
            }
        }
        System.out.println("proof: saved=" + saved + " busy=" + pool.getNumBusyConnections());
        System.out.printf("proof: last_saved_after_seconds=%.1f%n", (lastSaved - start) / 1e9);
        System.out.println("proof: in_awaitAvailable_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(ComboPooledDataSource pool, int ward) {
        try {
            Thread.sleep(ward * 200L); // wards open one after the other
            while (true) {
                saveOrder(pool);
                saved.incrementAndGet();
                lastSaved = System.nanoTime();
                Thread.sleep(10);
            }
        } catch (Exception e) {
            System.out.println(e);
        }
    }

    static void saveOrder(ComboPooledDataSource pool) throws Exception {
        try (Connection outer = pool.getConnection()) {
            outer.setAutoCommit(false);
            Thread.sleep(10); // checks the order
            int number = nextNumber(pool);
            outer.createStatement().execute("INSERT INTO orders VALUES(" + number + ", 'aspirin')");
            outer.commit();
        }
    }

    /** A transaction of its own. */
    static int nextNumber(ComboPooledDataSource pool) throws Exception {
        try (Connection inner = pool.getConnection();
            ResultSet result = inner.createStatement().executeQuery("SELECT 1")) {
            result.next();
            return numbers.incrementAndGet();
        }
    }
}
