import io.prometheus.client.Summary;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Batches whose rows are timed with a summary that keeps exact quantiles. */
public class Case {
  static final AtomicLong batches = new AtomicLong();
  static final AtomicLong observeNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    Summary.Builder builder = Summary.build("row_seconds", "time of a row").labelNames("table");
    if (args.length < 2 || !args[1].equals("no-quantiles")) {
      builder.ageBuckets(1).quantile(0.5, 0.0001).quantile(0.99, 0.0001).quantile(0.999, 0.0001);
    }
    Summary.Child summary = builder.create().labels("orders");
    for (int i = 0; i < 20_000; i++) {
      summary.observe(ThreadLocalRandom.current().nextDouble()); // what the morning has left
    }
    int threads = 6;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> work(summary), "batch-" + i);
      t.setDaemon(true);
      t.start();
    }
    int blocked = 0;
    int seen = 0;
    Thread[] all = new Thread[threads + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(50);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("batch-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: batches=" + batches.get());
    System.out.printf(
        "proof: seconds_observing_per_thread=%.1f%n", observeNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void work(Summary.Child summary) {
    while (true) {
      batch(summary);
      batches.incrementAndGet();
    }
  }

  static void batch(Summary.Child summary) {
    long t = System.nanoTime();
    for (int row = 0; row < 200; row++) {
      summary.observe(ThreadLocalRandom.current().nextDouble());
    }
    observeNanos.addAndGet(System.nanoTime() - t);
    try {
      Thread.sleep(2); // the database
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
