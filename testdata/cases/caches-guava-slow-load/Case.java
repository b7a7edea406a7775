import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.ListenableFutureTask;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Quotes whose exchange rates expire, and take longer to load than they live. */
public class Case {
  static final AtomicLong quotes = new AtomicLong();
  static final AtomicLong waitNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    CacheBuilder<Object, Object> builder = CacheBuilder.newBuilder().maximumSize(100);
    if (args.length > 1 && args[1].equals("refresh")) {
      builder.refreshAfterWrite(100, TimeUnit.MILLISECONDS);
    } else {
      builder.expireAfterWrite(100, TimeUnit.MILLISECONDS);
    }
    LoadingCache<String, Double> rates = builder.build(new RateLoader());
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> serve(rates), "quote-" + i);
      t.setDaemon(true);
      t.start();
    }
    int waiting = 0;
    int seen = 0;
    Thread[] all = new Thread[threads + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(50);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("quote-")) {
          seen++;
          waiting += all[i].getState() == Thread.State.WAITING ? 1 : 0;
        }
      }
    }
    System.out.println("proof: quotes=" + quotes.get());
    System.out.printf("proof: seconds_in_get_per_thread=%.1f%n", waitNanos.get() / 1e9 / threads);
    System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(LoadingCache<String, Double> rates) {
    while (true) {
      long t = System.nanoTime();
      rates.getUnchecked("EUR/USD");
      waitNanos.addAndGet(System.nanoTime() - t);
      quotes.incrementAndGet();
      pause(10); // writes the quote
    }
  }

  static class RateLoader extends CacheLoader<String, Double> {
    private final ExecutorService executor =
        Executors.newSingleThreadExecutor(
            r -> {
              Thread t = new Thread(r, "rates");
              t.setDaemon(true);
              return t;
            });

    @Override
    public Double load(String pair) {
      pause(700); // asks the central bank
      return 1.1;
    }

    @Override
    public ListenableFuture<Double> reload(String pair, Double old) {
      ListenableFutureTask<Double> task = ListenableFutureTask.create(() -> load(pair));
      executor.execute(task);
      return task;
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
