import com.alibaba.druid.pool.DruidDataSource;
import java.sql.Connection;
import java.util.concurrent.atomic.LongAdder;

/** There are as many connections as threads, yet with maxWait Druid's lock is fair, and each turn is a switch. */
public class Case {
    static final LongAdder lent = new LongAdder();
    static final LongAdder nanos = new LongAdder();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        DruidDataSource pool = new DruidDataSource();
        pool.setUrl("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1");
        pool.setInitialSize(16);
        pool.setMinIdle(16);
        pool.setMaxActive(16);
        pool.setTestWhileIdle(false);
        pool.setMaxWait(10_000);
        if (args.length > 1 && args[1].equals("unfair")) {
            pool.setUseUnfairLock(true);
        }
        pool.init();
        Thread[] threads = new Thread[16];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(pool), "request-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        Thread.sleep(500);
        lent.reset();
        nanos.reset();
        long begun = System.nanoTime();
        int waiting = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            Thread.sleep(50);
            for (Thread thread : threads) {
                seen++;
                waiting += thread.getState() == Thread.State.WAITING ? 1 : 0;
            }
        }
        double elapsed = (System.nanoTime() - begun) / 1e9;
        System.out.printf("proof: lent_per_s=%.0f in_pool_s=%.1f of %.1f%n", lent.sum() / elapsed, nanos.sum() / 1e9,
            threads.length * elapsed);
        System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(DruidDataSource pool) {
        int work = 1;
        while (true) {
            try {
                long t = System.nanoTime();
                Connection connection = pool.getConnection();
                nanos.add(System.nanoTime() - t);
                for (int i = 0; i < 2000; i++) {
                    work = work * 31 + i; // what it reads is cached
                }
                t = System.nanoTime();
                connection.close();
                nanos.add(System.nanoTime() - t);
                lent.increment();
            } catch (Exception e) {
                throw new IllegalStateException("" + work, e);
            }
        }
    }
}
