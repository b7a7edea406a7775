import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.util.concurrent.atomic.AtomicLong;

/** Invoices that are printed while the transaction, and so the connection, is still open. */
public class Case {
  static final AtomicLong invoices = new AtomicLong();
  static final AtomicLong waitNanos = new AtomicLong();
  static final AtomicLong useNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    boolean early = args.length > 1 && args[1].equals("close-early");
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:hsqldb:mem:invoices;hsqldb.tx=mvcc");
    config.setUsername("SA");
    config.setMaximumPoolSize(3);
    HikariDataSource pool = new HikariDataSource(config);
    try (Connection c = pool.getConnection()) {
      c.createStatement().execute("CREATE TABLE invoice(id INT PRIMARY KEY, amount INT)");
      for (int i = 0; i < 100; i++) {
        c.createStatement().execute("INSERT INTO invoice VALUES(" + i + ", 10)");
      }
    }
    int threads = 16;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> work(new InvoiceService(pool, early)), "invoice-" + i);
      t.setDaemon(true);
      t.start();
    }
    int waiting = 0;
    int looks = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      looks++;
      waiting += pool.getHikariPoolMXBean().getThreadsAwaitingConnection();
    }
    System.out.println("proof: invoices=" + invoices.get());
    System.out.printf("proof: seconds_waiting_per_thread=%.1f%n", waitNanos.get() / 1e9 / threads);
    System.out.printf(
        "proof: mean_use_ms=%.0f%n", useNanos.get() / 1e6 / Math.max(1, invoices.get()));
    System.out.printf(
        "proof: threads_waiting=%.1f of %d%n", (double) waiting / Math.max(1, looks), threads);
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void work(InvoiceService service) {
    for (int id = 0; true; id = (id + 1) % 100) {
      try {
        service.send(id);
        invoices.incrementAndGet();
      } catch (Exception e) {
        System.out.println(e);
      }
    }
  }

  static class InvoiceService {
    private final HikariDataSource pool;
    private final boolean early;

    InvoiceService(HikariDataSource pool, boolean early) {
      this.pool = pool;
      this.early = early;
    }

    void send(int id) throws Exception {
      long t = System.nanoTime();
      int amount;
      try (Connection c = pool.getConnection()) {
        waitNanos.addAndGet(System.nanoTime() - t);
        t = System.nanoTime();
        c.setAutoCommit(false);
        ResultSet r =
            c.createStatement().executeQuery("SELECT amount FROM invoice WHERE id = " + id);
        r.next();
        amount = r.getInt(1);
        if (!early) {
          Printing.print(amount);
        }
        c.commit();
      } finally {
        useNanos.addAndGet(System.nanoTime() - t);
      }
      if (early) {
        Printing.print(amount);
      }
    }
  }

  /** A printing service elsewhere. */
  static class Printing {
    static void print(int amount) throws InterruptedException {
      Thread.sleep(120);
    }
  }
}
