import java.io.File;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Sensors that write to one SQLite file, each on its own connection with a busy timeout. */
public class Case {
  static final AtomicLong written = new AtomicLong();
  static final AtomicLong busy = new AtomicLong();
  static final AtomicLong secondLong = new AtomicLong();
  static final AtomicInteger inBegin = new AtomicInteger();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    File file = Files.createTempFile("sensors", ".db").toFile();
    String url = "jdbc:sqlite:" + file;
    try (Connection c = DriverManager.getConnection(url);
        Statement s = c.createStatement()) {
      s.executeUpdate("CREATE TABLE reading(sensor INT, value INT)");
    }
    int threads = 6;
    for (int i = 0; i < threads; i++) {
      int sensor = i;
      Thread t = new Thread(() -> measure(url, sensor), "sensor-" + i);
      t.setDaemon(true);
      t.start();
    }
    int waiting = 0;
    int seen = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(50);
      waiting += inBegin.get();
      seen += threads;
    }
    System.out.println("proof: written=" + written.get() + " given_up=" + busy.get());
    System.out.println("proof: in_begin_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.println("proof: begins_of_a_second_and_more=" + secondLong.get());
    System.out.flush();
    file.delete();
    Runtime.getRuntime().halt(0);
  }

  static void measure(String url, int sensor) {
    try (Connection c = DriverManager.getConnection(url);
        Statement s = c.createStatement()) {
      s.execute("PRAGMA synchronous = OFF");
      s.execute("PRAGMA busy_timeout = 20000");
      while (true) {
        try {
          write(s, sensor);
          written.incrementAndGet();
        } catch (SQLException e) {
          busy.incrementAndGet();
        }
      }
    } catch (Exception e) {
      e.printStackTrace();
    }
  }

  static void write(Statement s, int sensor) throws Exception {
    long t = System.nanoTime();
    inBegin.incrementAndGet();
    s.execute("BEGIN IMMEDIATE");
    inBegin.decrementAndGet();
    secondLong.addAndGet(System.nanoTime() - t > 990_000_000 ? 1 : 0);
    s.execute("INSERT INTO reading VALUES(" + sensor + ", 20)");
    Thread.sleep(15); // the second value of the sensor
    s.execute("INSERT INTO reading VALUES(" + sensor + ", 21)");
    s.execute("COMMIT");
    Thread.sleep(150);
  }
}
