import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.atomic.AtomicLong;

/** Requests that are counted by user, so that each new user makes a new meter. */
public class Case {
  static final AtomicLong requests = new AtomicLong();
  static final AtomicLong countNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    String tag = args.length > 1 ? args[1] : "user";
    MeterRegistry registry = new SimpleMeterRegistry();
    registry.config().onMeterAdded(Catalogue::describe);
    int threads = 10;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> serve(registry, tag), "http-" + i);
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
        if (all[i].getName().startsWith("http-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: requests=" + requests.get() + " meters=" + registry.getMeters().size());
    System.out.printf("proof: seconds_counting_per_thread=%.1f%n", countNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(MeterRegistry registry, String tag) {
    while (true) {
      pause(4); // answers the request
      long number = requests.incrementAndGet();
      long t = System.nanoTime();
      count(registry, tag, tag.equals("user") ? "user-" + number : "/page-" + number % 10);
      countNanos.addAndGet(System.nanoTime() - t);
    }
  }

  static void count(MeterRegistry registry, String tag, String value) {
    Counter.builder("requests").tag(tag, value).register(registry).increment();
  }

  /** Tells the monitoring system what a new meter means. */
  static class Catalogue {
    static void describe(Meter meter) {
      pause(3);
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
