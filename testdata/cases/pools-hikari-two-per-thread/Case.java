import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.concurrent.atomic.AtomicLong;

/** Transfers that write their audit record on a second connection while they keep the first. */
public class Case {
  static final AtomicLong transfers = new AtomicLong();
  static volatile long lastTransfer;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    int size = args.length > 1 ? Integer.parseInt(args[1]) : 6;
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1");
    config.setMaximumPoolSize(size);
    HikariDataSource pool = new HikariDataSource(config);
    try (Connection c = pool.getConnection()) {
      c.createStatement().execute("CREATE TABLE account(id INT PRIMARY KEY, balance BIGINT)");
      c.createStatement().execute("CREATE TABLE audit(account INT, text VARCHAR(99))");
      for (int i = 0; i < 8; i++) {
        c.createStatement().execute("INSERT INTO account VALUES(" + i + ", 1000)");
      }
    }
    lastTransfer = start;
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) {
      int account = i;
      threads[i] = new Thread(() -> work(new TransferService(pool), account), "transfer-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
      if (i == 4) {
        Thread.sleep(1500); // then more customers come
      }
    }
    int waiting = 0;
    int seen = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      for (Thread t : threads) {
        seen++;
        for (StackTraceElement e : t.getStackTrace()) {
          if (e.getClassName().endsWith("ConcurrentBag") && e.getMethodName().equals("borrow")) {
            waiting++;
          }
        }
      }
    }
    System.out.println("proof: transfers=" + transfers.get());
    System.out.printf("proof: last_transfer_after_seconds=%.1f%n", (lastTransfer - start) / 1e9);
    System.out.println("proof: waiting_for_a_connection_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.println(
        "proof: lent=" + pool.getHikariPoolMXBean().getActiveConnections() + " of " + size
            + " waiting_threads=" + pool.getHikariPoolMXBean().getThreadsAwaitingConnection());
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void work(TransferService service, int account) {
    while (true) {
      try {
        service.transfer(account);
        transfers.incrementAndGet();
        lastTransfer = System.nanoTime();
        Thread.sleep(3);
      } catch (Exception e) {
        System.out.println(e);
      }
    }
  }

  static class TransferService {
    private final HikariDataSource pool;

    TransferService(HikariDataSource pool) {
      this.pool = pool;
    }

    void transfer(int account) throws Exception {
      try (Connection c = pool.getConnection()) {
        c.setAutoCommit(false);
        c.createStatement()
            .executeUpdate("UPDATE account SET balance = balance - 1 WHERE id = " + account);
        Thread.sleep(10); // checks
        audit(account, "took 1");
        c.commit();
      }
    }

    /** Has its own transaction, so that the record stays where the transfer is rolled back. */
    void audit(int account, String text) throws Exception {
      try (Connection c = pool.getConnection();
          PreparedStatement s = c.prepareStatement("INSERT INTO audit VALUES(?, ?)")) {
        s.setInt(1, account);
        s.setString(2, text);
        s.executeUpdate();
      }
    }
  }
}
