import java.util.concurrent.atomic.AtomicLong;
import org.apache.ibatis.cache.Cache;
import org.apache.ibatis.cache.decorators.BlockingCache;
import org.apache.ibatis.cache.impl.PerpetualCache;

/** A catalogue that puts nothing into its blocking cache where a product cannot be loaded. */
public class Case {
  static final AtomicLong answers = new AtomicLong();
  static final AtomicLong failures = new AtomicLong();
  static volatile long lastAnswer;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    Catalogue catalogue = new Catalogue(args.length > 1 && args[1].equals("remove"));
    lastAnswer = start;
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) {
      int first = i * 10;
      threads[i] = new Thread(() -> serve(catalogue, first), "http-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    int waiting = 0;
    int seen = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      for (Thread t : threads) {
        seen++;
        waiting += t.getState() == Thread.State.WAITING ? 1 : 0;
      }
    }
    System.out.println("proof: answers=" + answers.get() + " failures=" + failures.get());
    System.out.printf("proof: last_answer_after_seconds=%.1f%n", (lastAnswer - start) / 1e9);
    System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(Catalogue catalogue, int first) {
    for (int i = first; true; i++) {
      try {
        catalogue.find("product-" + i % 100);
        answers.incrementAndGet();
      } catch (IllegalStateException e) {
        failures.incrementAndGet();
      }
      lastAnswer = System.nanoTime();
      pause(10);
    }
  }

  static class Catalogue {
    private final Cache cache = new BlockingCache(new PerpetualCache("products"));
    private final boolean remove;

    Catalogue(boolean remove) {
      this.remove = remove;
    }

    Object find(String key) {
      Object product = cache.getObject(key); // others wait for this key from here on
      if (product == null) {
        try {
          product = load(key);
          cache.putObject(key, product);
        } finally {
          if (remove && product == null) {
            cache.removeObject(key);
          }
        }
      }
      return product;
    }

    private Object load(String key) {
      pause(3);
      if (key.endsWith("-77")) {
        throw new IllegalStateException(key + " has no price");
      }
      return key + ", 10 EUR";
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
