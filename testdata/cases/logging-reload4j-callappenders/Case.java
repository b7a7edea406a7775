import java.io.IOException;
import java.io.Writer;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.AsyncAppender;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;

/** A shop whose requests log to a file on a slow network share. */
public class Case {
  static final AtomicLong requests = new AtomicLong();
  static final AtomicLong logNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    AppenderSkeleton file =
        new WriterAppender(new PatternLayout("%d{ISO8601} %-5p %c - %m%n"), new NetworkShare());
    if (args.length > 1 && args[1].equals("async")) {
      AsyncAppender async = new AsyncAppender();
      async.setBlocking(false);
      async.addAppender(file);
      Logger.getRootLogger().addAppender(async);
    } else {
      Logger.getRootLogger().addAppender(file);
    }
    int threads = 10;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(new Checkout(i), "request-" + i);
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
        if (all[i].getName().startsWith("request-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: requests=" + requests.get());
    System.out.printf("proof: seconds_in_log_calls_per_thread=%.1f%n", logNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static class Checkout implements Runnable {
    private final Logger log;

    Checkout(int i) {
      log = Logger.getLogger("shop.checkout." + i % 3);
    }

    public void run() {
      while (true) {
        handle();
      }
    }

    void handle() {
      long t = System.nanoTime();
      log.info("basket checked");
      log.info("payment accepted");
      logNanos.addAndGet(System.nanoTime() - t);
      pause(4); // what the request does besides
      requests.incrementAndGet();
    }
  }

  /** Each write and each flush goes over the wire. */
  static class NetworkShare extends Writer {
    public void write(char[] text, int from, int length) {
      pause(3);
    }

    public void flush() {}

    public void close() throws IOException {}
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
