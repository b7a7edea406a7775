import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.concurrent.atomic.AtomicLong;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.SequenceGenerator;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Imports whose ids come from a sequence in a database that is 8 milliseconds away. */
public class Case {
  static final AtomicLong rows = new AtomicLong();
  static final AtomicLong idNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    Configuration configuration = new Configuration().addAnnotatedClass(Measurement.class);
    DataSource database = JdbcConnectionPool.create("jdbc:h2:mem:m;DB_CLOSE_DELAY=-1", "sa", "");
    try (Connection c = database.getConnection()) {
      c.createStatement().execute("CREATE SEQUENCE m_seq INCREMENT BY 5");
      c.createStatement().execute("CREATE TABLE measurement(id BIGINT PRIMARY KEY, amount INT)");
    }
    configuration.getProperties().put("hibernate.connection.datasource", distant(database));
    configuration.setProperty("hibernate.dialect", "org.hibernate.dialect.H2Dialect");
    configuration.setProperty("hibernate.xml_mapping_enabled", "false");
    configuration.setProperty("hibernate.bytecode.provider", "none");
    configuration.setProperty("hibernate.jdbc.batch_size", "50");
    configuration.setProperty(
        "hibernate.id.optimizer.pooled.preferred", args.length > 1 ? args[1] : "pooled");
    SessionFactory factory = configuration.buildSessionFactory();
    importRows(factory);
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> work(factory), "import-" + i);
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
        if (all[i].getName().startsWith("import-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: rows=" + rows.get());
    System.out.printf("proof: seconds_for_ids_per_thread=%.1f%n", idNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void work(SessionFactory factory) {
    while (true) {
      importRows(factory);
    }
  }

  static void importRows(SessionFactory factory) {
    try (Session session = factory.openSession()) {
      session.beginTransaction();
      for (int i = 0; i < 50; i++) {
        Measurement m = new Measurement();
        m.amount = i;
        long t = System.nanoTime();
        session.persist(m);
        idNanos.addAndGet(System.nanoTime() - t);
      }
      session.getTransaction().commit();
    }
    rows.addAndGet(50);
  }

  @Entity(name = "measurement")
  public static class Measurement {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "m")
    @SequenceGenerator(name = "m", sequenceName = "m_seq", allocationSize = 5)
    public long id;

    public int amount;
  }

  /** The same database with the time that the network takes. */
  static DataSource distant(DataSource near) {
    return wrap(DataSource.class, near);
  }

  static <T> T wrap(Class<T> type, Object real) {
    Object proxy =
        Proxy.newProxyInstance(
            Case.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, args) -> {
              String name = method.getName();
              if (name.equals("executeQuery") || name.equals("executeBatch")) {
                Thread.sleep(8);
              }
              try {
                Object result = method.invoke(real, args);
                if (name.equals("getConnection") && result != null) {
                  return wrap(Connection.class, result);
                }
                return name.equals("prepareStatement") ? wrap(PreparedStatement.class, result) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
    return type.cast(proxy);
  }
}
