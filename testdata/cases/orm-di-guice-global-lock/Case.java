import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Provider;
import com.google.inject.Scopes;
import java.util.concurrent.atomic.AtomicLong;

/** Tenants with an injector each, which have nothing in common but the class of their injector. */
public class Case {
  static final AtomicLong tenants = new AtomicLong();
  static final AtomicLong openNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    new Tenant("warm").open();
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(Case::serve, "tenant-" + i);
      t.setDaemon(true);
      t.start();
    }
    int waiting = 0;
    int seen = 0;
    Thread[] all = new Thread[threads + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("tenant-")) {
          seen++;
          waiting += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: tenants=" + tenants.get());
    System.out.printf("proof: seconds_opening_per_thread=%.1f%n", openNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve() {
    while (true) {
      Tenant tenant = new Tenant("tenant " + tenants.get());
      long t = System.nanoTime();
      tenant.open();
      openNanos.addAndGet(System.nanoTime() - t);
      tenants.incrementAndGet();
      pause(5); // answers its first request
    }
  }

  static class Tenant {
    private final Injector injector;

    Tenant(String name) {
      injector =
          Guice.createInjector(
              new AbstractModule() {
                @Override
                protected void configure() {
                  bind(Database.class).toProvider(new DatabaseProvider(name)).in(Scopes.SINGLETON);
                }
              });
    }

    Database open() {
      return injector.getInstance(Database.class);
    }
  }

  static class Database {
    final String name;

    Database(String name) {
      this.name = name;
    }
  }

  static class DatabaseProvider implements Provider<Database> {
    private final String name;

    DatabaseProvider(String name) {
      this.name = name;
    }

    @Override
    public Database get() {
      pause(40); // connects
      return new Database(name);
    }
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
