import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** Request threads write an access log line each; the appender's lock is fair. */
public class Case {
    static volatile boolean stop;

    static final class RequestThread extends Thread {
        final Logger logger;
        long requests;
        long loggingNanos;

        RequestThread(Logger logger, int number) {
            super("request-" + number);
            setDaemon(true);
            this.logger = logger;
        }

        void handle() {
            long start = System.nanoTime();
            logger.info("request {} took {} ms", requests, 3);
            loggingNanos += System.nanoTime() - start;
        }

        @Override
        public void run() {
            while (!stop) {
                handle();
                requests++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        File file = File.createTempFile("access", ".log");
        file.deleteOnExit();
        LoggerContext context = new LoggerContext();
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern("%d{HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n");
        encoder.start();
        FileAppender<ILoggingEvent> appender = new FileAppender<>();
        appender.setContext(context);
        appender.setName("access");
        appender.setFile(file.getPath());
        appender.setEncoder(encoder);
        appender.start();
        Logger logger = context.getLogger("com.shop.web.AccessLog");
        logger.addAppender(appender);
        List<RequestThread> threads = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            threads.add(new RequestThread(logger, i));
        }
        long start = System.nanoTime();
        threads.forEach(Thread::start);
        long looks = 0;
        long waiting = 0;
        while (System.nanoTime() < end) {
            Thread.sleep(20);
            for (Thread thread : threads) {
                looks++;
                if (thread.getState() == Thread.State.WAITING) {
                    waiting++;
                }
            }
        }
        stop = true;
        System.out.println("proof: lines=" + threads.stream().mapToLong(t -> t.requests).sum());
        System.out.println("proof: share_of_looks_parked=" + (double) waiting / looks);
        System.out.println("proof: logging_s=" + threads.stream().mapToLong(t -> t.loggingNanos).sum() / 1e9 + " of_s=" + 16 * (System.nanoTime() - start) / 1e9);
        file.delete();
        Runtime.getRuntime().halt(0);
    }
}
