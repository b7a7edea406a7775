import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicLong;

/** An import that ends without a commit or a close; those who read the table wait for it. */
public class Case {
  static final AtomicLong reads = new AtomicLong();
  static volatile long lastRead;
  static Connection kept;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    boolean mvcc = args.length > 1 && args[1].equals("mvcc");
    String url = "jdbc:hsqldb:mem:stock" + (mvcc ? ";hsqldb.tx=mvcc" : "");
    Connection base = DriverManager.getConnection(url, "SA", "");
    try (Statement s = base.createStatement()) {
      s.execute("CREATE TABLE article(id INT PRIMARY KEY, stock INT)");
      for (int i = 0; i < 100; i++) {
        s.execute("INSERT INTO article VALUES(" + i + ", 5)");
      }
    }
    lastRead = start;
    Thread[] threads = new Thread[6];
    for (int i = 0; i < threads.length; i++) {
      Connection c = DriverManager.getConnection(url, "SA", "");
      threads[i] = new Thread(() -> serve(c), "shop-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    Thread.sleep(1500);
    Thread importer = new Thread(() -> importArticles(url), "import");
    importer.start();
    importer.join();
    int waiting = 0;
    int seen = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      for (Thread t : threads) {
        seen++;
        waiting += t.getState() == Thread.State.WAITING ? 1 : 0;
      }
    }
    System.out.println("proof: reads=" + reads.get());
    System.out.printf("proof: last_read_after_seconds=%.1f%n", (lastRead - start) / 1e9);
    System.out.println("proof: waiting_percent_after_import=" + 100 * waiting / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(Connection c) {
    try {
      for (int id = 0; true; id = (id + 1) % 100) {
        readStock(c, id);
        reads.incrementAndGet();
        lastRead = System.nanoTime();
        Thread.sleep(10);
      }
    } catch (Exception e) {
      e.printStackTrace();
    }
  }

  static int readStock(Connection c, int id) throws Exception {
    try (PreparedStatement s = c.prepareStatement("SELECT stock FROM article WHERE id = ?")) {
      s.setInt(1, id);
      try (ResultSet r = s.executeQuery()) {
        r.next();
        return r.getInt(1);
      }
    }
  }

  static void importArticles(String url) {
    try {
      kept = DriverManager.getConnection(url, "SA", "");
      kept.setAutoCommit(false);
      Statement s = kept.createStatement();
      s.executeUpdate("INSERT INTO article VALUES(1000, 1)");
      s.close(); // there is no commit, and the connection stays open
    } catch (Exception e) {
      e.printStackTrace();
    }
  }
}
