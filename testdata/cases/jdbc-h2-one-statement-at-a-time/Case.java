import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicLong;

/** Tills that book sales while a report of the same database runs on its own connection. */
public class Case {
  static final String URL = "jdbc:h2:mem:sales;DB_CLOSE_DELAY=-1";
  static final AtomicLong sales = new AtomicLong();
  static final AtomicLong saleNanos = new AtomicLong();
  static final AtomicLong reports = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    try (Connection c = DriverManager.getConnection(URL);
        Statement s = c.createStatement()) {
      s.execute("CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(50))");
      s.execute("INSERT INTO customer SELECT x, 'customer ' || x FROM system_range(1, 200)");
      s.execute("CREATE TABLE sale(id IDENTITY, till INT, amount INT)");
      s.execute("CREATE ALIAS rating FOR \"Case.rating\"");
    }
    int tills = 8;
    for (int i = 0; i < tills; i++) {
      int till = i;
      start("till-" + i, c -> sell(c, till));
    }
    start("report", Case::report);
    int blocked = 0;
    int seen = 0;
    Thread[] all = new Thread[tills + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("till-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: sales=" + sales.get() + " reports=" + reports.get());
    System.out.printf("proof: seconds_in_statements_per_till=%.1f%n", saleNanos.get() / 1e9 / tills);
    System.out.println("proof: tills_blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  interface Work {
    void run(Connection c) throws Exception;
  }

  static void start(String name, Work work) {
    Thread t =
        new Thread(
            () -> {
              try (Connection c = DriverManager.getConnection(URL)) {
                while (true) {
                  work.run(c);
                }
              } catch (Exception e) {
                e.printStackTrace();
              }
            },
            name);
    t.setDaemon(true);
    t.start();
  }

  static void sell(Connection c, int till) throws Exception {
    long t = System.nanoTime();
    try (PreparedStatement s = c.prepareStatement("INSERT INTO sale(till, amount) VALUES(?, 1)")) {
      s.setInt(1, till);
      s.executeUpdate();
    }
    saleNanos.addAndGet(System.nanoTime() - t);
    sales.incrementAndGet();
    Thread.sleep(10); // the next customer
  }

  static void report(Connection c) throws Exception {
    try (Statement s = c.createStatement();
        ResultSet r = s.executeQuery("SELECT SUM(rating(id)) FROM customer")) {
      r.next();
    }
    reports.incrementAndGet();
    Thread.sleep(20);
  }

  /** Asks a rating agency, from within the query. */
  public static int rating(int customer) throws InterruptedException {
    Thread.sleep(3);
    return customer % 7;
  }
}
