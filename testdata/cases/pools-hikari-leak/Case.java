import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A parcel service that forgets to close the connection where it finds no parcel. */
public class Case {
  static final AtomicInteger asked = new AtomicInteger();
  static final AtomicLong found = new AtomicLong();
  static volatile long lastAnswer;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    boolean closing = args.length > 1 && args[1].equals("closing");
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:h2:mem:parcels;DB_CLOSE_DELAY=-1");
    config.setMaximumPoolSize(5);
    HikariDataSource pool = new HikariDataSource(config);
    try (Connection c = pool.getConnection()) {
      c.createStatement().execute("CREATE TABLE parcel(id INT PRIMARY KEY, place VARCHAR(99))");
      for (int i = 0; i < 100; i++) {
        c.createStatement().execute("INSERT INTO parcel VALUES(" + i + ", 'on its way')");
      }
    }
    Thread[] threads = new Thread[8];
    lastAnswer = start;
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> serve(new Tracking(pool, closing)), "http-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
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
    System.out.println("proof: answers=" + asked.get() + " found=" + found.get());
    System.out.printf("proof: last_answer_after_seconds=%.1f%n", (lastAnswer - start) / 1e9);
    System.out.println("proof: waiting_for_a_connection_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.println(
        "proof: lent=" + pool.getHikariPoolMXBean().getActiveConnections()
            + " idle=" + pool.getHikariPoolMXBean().getIdleConnections());
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(Tracking tracking) {
    while (true) {
      try {
        int id = asked.get() % 120; // some numbers are mistyped
        tracking.find(id);
        asked.incrementAndGet();
        lastAnswer = System.nanoTime();
        Thread.sleep(20);
      } catch (Exception e) {
        System.out.println(e);
      }
    }
  }

  static class Tracking {
    private final HikariDataSource pool;
    private final boolean closing;

    Tracking(HikariDataSource pool, boolean closing) {
      this.pool = pool;
      this.closing = closing;
    }

    String find(int id) throws Exception {
      Connection c = pool.getConnection();
      PreparedStatement s = c.prepareStatement("SELECT place FROM parcel WHERE id = ?");
      s.setInt(1, id);
      ResultSet r = s.executeQuery();
      if (!r.next()) {
        if (closing) {
          c.close();
        }
        return null; // the connection is never given back
      }
      String place = r.getString(1);
      c.close();
      found.incrementAndGet();
      return place;
    }
  }
}
