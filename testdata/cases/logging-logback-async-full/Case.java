import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/** Requests log through an asynchronous appender whose log server is too slow for them. */
public class Case {
  static final AtomicLong requests = new AtomicLong();
  static final AtomicLong logNanos = new AtomicLong();
  static final AtomicLong sent = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    LogServerAppender server = new LogServerAppender();
    server.setContext(context);
    server.start();
    AsyncAppender async = new AsyncAppender();
    async.setContext(context);
    async.setName("LOGSERVER");
    async.setQueueSize(64);
    async.setDiscardingThreshold(0);
    async.setNeverBlock(args.length > 1 && args[1].equals("never-block"));
    async.addAppender(server);
    async.start();
    Logger log = context.getLogger("booking");
    log.setAdditive(false);
    log.addAppender(async);
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(new Booking(log), "booking-" + i);
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
        if (all[i].getName().startsWith("booking-")) {
          seen++;
          waiting += all[i].getState() == Thread.State.WAITING ? 1 : 0;
        }
      }
    }
    System.out.println("proof: requests=" + requests.get() + " lines_sent=" + sent.get());
    System.out.printf("proof: seconds_in_log_calls_per_thread=%.1f%n", logNanos.get() / 1e9 / threads);
    System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
    System.out.println("proof: room_in_queue=" + async.getRemainingCapacity());
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static class Booking implements Runnable {
    private final Logger log;

    Booking(Logger log) {
      this.log = log;
    }

    public void run() {
      while (true) {
        book();
      }
    }

    void book() {
      long t = System.nanoTime();
      log.info("seats found");
      log.info("seats held");
      log.info("booked");
      logNanos.addAndGet(System.nanoTime() - t);
      requests.incrementAndGet();
      pause(6); // what the request does besides
    }
  }

  /** Sends each line and waits for its acknowledgement. */
  static class LogServerAppender extends AppenderBase<ILoggingEvent> {
    protected void append(ILoggingEvent event) {
      pause(5);
      sent.incrementAndGet();
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
