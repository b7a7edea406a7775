import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Messages go out in batches, each 20 ms; a report that takes a second is scheduled, too. */
public class Case {
    static final BlockingQueue<CompletableFuture<Boolean>> batch = new LinkedBlockingQueue<>();
    static final AtomicInteger sent = new AtomicInteger();
    static final AtomicInteger reports = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();
    static int poolSize = 1; // Spring's default

    @Configuration
    @EnableScheduling
    static class Jobs {
        @Bean
        ThreadPoolTaskScheduler taskScheduler() {
            ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
            scheduler.setThreadNamePrefix("scheduling-");
            scheduler.setPoolSize(poolSize);
            scheduler.setDaemon(true);
            return scheduler;
        }

        @Scheduled(fixedRate = 20)
        void sendBatch() {
            for (CompletableFuture<Boolean> one = batch.poll(); one != null; one = batch.poll()) {
                one.complete(true);
            }
        }

        @Scheduled(fixedRate = 1200)
        void writeReport() throws InterruptedException {
            Thread.sleep(1000); // asks the accounts' server
            reports.incrementAndGet();
        }
    }

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        poolSize = args.length > 1 ? Integer.parseInt(args[1]) : poolSize;
        new AnnotationConfigApplicationContext(Jobs.class);
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(Case::serve, "http-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, seconds * 1000L - (begun - start) / 1_000_000));
        System.out.println("proof: sent=" + sent + " reports=" + reports);
        System.out.println("proof: mean_wait_ms=" + nanos.get() / 1_000_000 / Math.max(1, sent.get()));
        System.out.printf("proof: waiting_s=%.1f of %.1f%n", nanos.get() / 1e9, 8 * (System.nanoTime() - begun) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve() {
        while (true) {
            long t = System.nanoTime();
            CompletableFuture<Boolean> message = new CompletableFuture<>();
            batch.add(message);
            message.join();
            nanos.addAndGet(System.nanoTime() - t);
            sent.incrementAndGet();
            try {
                Thread.sleep(5); // writes the next message
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
