import java.io.Serializable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.layout.PatternLayout;

/** All loggers are asynchronous; the one thread that writes has a slow log server, and the ring is full. */
public class Case {
    static final AtomicInteger bookings = new AtomicInteger();
    static final AtomicLong logNanos = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        System.setProperty("Log4jContextSelector", "org.apache.logging.log4j.core.async.AsyncLoggerContextSelector");
        System.setProperty("AsyncLogger.RingBufferSize", "256");
        if (args.length > 1 && args[1].equals("discard")) {
            System.setProperty("log4j2.AsyncQueueFullPolicy", "Discard");
        }
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        LogServerAppender server = new LogServerAppender();
        server.start();
        LoggerConfig root = context.getConfiguration().getRootLogger();
        root.getAppenders().keySet().forEach(root::removeAppender);
        root.addAppender(server, Level.INFO, null);
        root.setLevel(Level.INFO);
        context.updateLoggers();
        for (int i = 0; i < 6; i++) {
            Logger logger = LogManager.getLogger("booking." + i);
            Thread thread = new Thread(() -> book(logger), "booking-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, seconds * 1000L - (begun - start) / 1_000_000));
        System.out.println("proof: bookings=" + bookings + " lines_written=" + LogServerAppender.lines);
        System.out.printf("proof: seconds_in_log_calls=%.1f of %.1f%n", logNanos.get() / 1e9,
            6 * (System.nanoTime() - begun) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void book(Logger logger) {
        while (true) {
            long t = System.nanoTime();
            logger.info("seat {} reserved", bookings.get());
            logger.info("ticket sent");
            logNanos.addAndGet(System.nanoTime() - t);
            bookings.incrementAndGet();
            pause(2);
        }
    }

    static class LogServerAppender extends AbstractAppender {
        static final AtomicInteger lines = new AtomicInteger();

        LogServerAppender() {
            super("log-server", null, (org.apache.logging.log4j.core.Layout<? extends Serializable>)
                PatternLayout.createDefaultLayout(), true);
        }

        @Override
        public void append(LogEvent event) {
            pause(4); // each line goes over the wire
            lines.incrementAndGet();
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
