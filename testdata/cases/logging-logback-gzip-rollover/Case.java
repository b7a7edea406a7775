import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeAndTimeBasedRollingPolicy;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.util.FileSize;
import java.io.File;
import java.nio.file.Files;
import java.util.Base64;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/** A server that logs its requests' bodies; full files are compressed as they are rolled over. */
public class Case {
  static final AtomicLong requests = new AtomicLong();
  static final AtomicLong logNanos = new AtomicLong();
  static final AtomicLong longestNanos = new AtomicLong();

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    boolean timeBased = args.length > 1 && args[1].equals("time-based");
    File dir = Files.createTempDirectory("requests").toFile();
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    RollingFileAppender<ILoggingEvent> appender = new RollingFileAppender<>();
    appender.setContext(context);
    appender.setFile(new File(dir, "requests.log").getPath());
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern("%d [%thread] %msg%n");
    encoder.start();
    appender.setEncoder(encoder);
    if (timeBased) {
      SizeAndTimeBasedRollingPolicy<ILoggingEvent> policy = new SizeAndTimeBasedRollingPolicy<>();
      policy.setContext(context);
      policy.setParent(appender);
      policy.setFileNamePattern(dir + "/requests-%d{yyyy-MM-dd}.%i.log.gz");
      policy.setMaxFileSize(FileSize.valueOf("64MB"));
      policy.start();
      appender.setRollingPolicy(policy);
    } else {
      FixedWindowRollingPolicy policy = new FixedWindowRollingPolicy();
      policy.setContext(context);
      policy.setParent(appender);
      policy.setFileNamePattern(dir + "/requests.%i.log.gz");
      policy.setMinIndex(1);
      policy.setMaxIndex(3);
      policy.start();
      appender.setRollingPolicy(policy);
      SizeBasedTriggeringPolicy<ILoggingEvent> size = new SizeBasedTriggeringPolicy<>();
      size.setContext(context);
      size.setMaxFileSize(FileSize.valueOf("4MB"));
      size.start();
      appender.setTriggeringPolicy(size);
    }
    appender.start();
    Logger log = context.getLogger("server.requests");
    log.setAdditive(false);
    log.addAppender(appender);
    byte[] bytes = new byte[24_000];
    new Random(1).nextBytes(bytes);
    String body = Base64.getEncoder().encodeToString(bytes);
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(() -> serve(log, body), "http-" + i);
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
        if (all[i].getName().startsWith("http-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: requests=" + requests.get());
    System.out.printf("proof: seconds_in_log_calls_per_thread=%.1f%n", logNanos.get() / 1e9 / threads);
    System.out.println("proof: longest_log_call_ms=" + longestNanos.get() / 1_000_000);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    for (File f : dir.listFiles()) {
      f.delete();
    }
    dir.delete();
    Runtime.getRuntime().halt(0);
  }

  static void serve(Logger log, String body) {
    while (true) {
      try {
        Thread.sleep(1); // what the request does besides
      } catch (InterruptedException e) {
        return;
      }
      long t = System.nanoTime();
      log.info(body);
      t = System.nanoTime() - t;
      logNanos.addAndGet(t);
      longestNanos.accumulateAndGet(t, Math::max);
      requests.incrementAndGet();
    }
  }
}
