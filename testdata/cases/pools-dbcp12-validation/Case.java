import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.commons.dbcp.BasicDataSource;

/** A web shop whose pool tests each connection that it lends, over a network with some latency. */
public class Case {
  static final AtomicLong orders = new AtomicLong();
  static final AtomicLong poolNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    java.sql.DriverManager.registerDriver(new DistantDriver());
    BasicDataSource pool = new BasicDataSource();
    pool.setUrl("jdbc:distant:shop");
    pool.setMaxActive(20);
    pool.setMaxIdle(20);
    pool.setTestOnBorrow(true);
    pool.setValidationQuery("SELECT 1");
    pool.getConnection().close();
    int threads = 10;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(new OrderService(pool), "order-" + i);
      t.setDaemon(true);
      t.start();
    }
    int blocked = 0;
    int seen = 0;
    Thread[] all = new Thread[threads + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("order-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: orders=" + orders.get());
    System.out.printf("proof: seconds_in_pool_per_thread=%.1f%n", poolNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.println("proof: connections=" + (pool.getNumActive() + pool.getNumIdle()));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static class OrderService implements Runnable {
    private final BasicDataSource pool;

    OrderService(BasicDataSource pool) {
      this.pool = pool;
    }

    public void run() {
      while (true) {
        try {
          placeOrder();
        } catch (Exception e) {
          e.printStackTrace();
        }
      }
    }

    void placeOrder() throws Exception {
      long t = System.nanoTime();
      Connection connection = pool.getConnection();
      poolNanos.addAndGet(System.nanoTime() - t);
      Statement statement = connection.createStatement();
      statement.executeQuery("INSERT INTO orders").close();
      statement.close();
      t = System.nanoTime();
      connection.close();
      poolNanos.addAndGet(System.nanoTime() - t);
      orders.incrementAndGet();
    }
  }

  /** A driver whose database is 8 milliseconds away. */
  public static class DistantDriver implements Driver {
    public Connection connect(String url, Properties info) {
      return acceptsURL(url) ? make(Connection.class) : null;
    }

    static <T> T make(Class<T> type) {
      InvocationHandler handler =
          (proxy, method, args) -> {
            switch (method.getName()) {
              case "createStatement":
                return make(Statement.class);
              case "executeQuery":
                Thread.sleep(8);
                return make(ResultSet.class);
              case "next":
              case "getAutoCommit":
                return true;
              case "hashCode":
                return System.identityHashCode(proxy);
              case "equals":
                return proxy == args[0];
              default:
                return method.getReturnType() == boolean.class ? (Object) false : null;
            }
          };
      return type.cast(
          Proxy.newProxyInstance(Case.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    public boolean acceptsURL(String url) {
      return url.startsWith("jdbc:distant:");
    }

    public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
      return new DriverPropertyInfo[0];
    }

    public int getMajorVersion() {
      return 1;
    }

    public int getMinorVersion() {
      return 0;
    }

    public boolean jdbcCompliant() {
      return false;
    }

    public java.util.logging.Logger getParentLogger() {
      return null;
    }
  }
}
