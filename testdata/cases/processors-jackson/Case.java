import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.commons.math3.stat.descriptive.SynchronizedSummaryStatistics;

/** Far more threads than processors write JSON; all add their sizes to one statistic. */
public class Case {
    static final LongAdder written = new LongAdder();
    static final LongAdder lockNanos = new LongAdder();
    static final SynchronizedSummaryStatistics sizes = new SynchronizedSummaryStatistics();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 64;
        ObjectMapper mapper = new ObjectMapper();
        List<Map<String, Object>> articles = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            Map<String, Object> article = new LinkedHashMap<>();
            article.put("number", i);
            article.put("name", "article " + i);
            article.put("price", i * 1.25);
            articles.add(article);
        }
        for (int i = 0; i < 20_000; i++) {
            write(mapper, articles);
        }
        written.reset();
        lockNanos.reset();
        long begun = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    write(mapper, articles);
                }
            }, "export-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (begun - start) / 1_000_000));
        double elapsed = (System.nanoTime() - begun) / 1e9;
        System.out.printf("proof: written_per_s=%.0f by %d threads%n", written.sum() / elapsed, threads);
        System.out.printf("proof: microseconds_to_add=%.1f at_the_lock_s=%.1f of %.1f%n",
            lockNanos.sum() / 1e3 / Math.max(1, written.sum()), lockNanos.sum() / 1e9, threads * elapsed);
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.printf("proof: processor_s=%.1f by %d processors%n", system.getProcessCpuTime() / 1e9,
            system.getAvailableProcessors());
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void write(ObjectMapper mapper, List<Map<String, Object>> articles) {
        try {
            int size = mapper.writeValueAsBytes(articles).length;
            long t = System.nanoTime();
            sizes.addValue(size);
            lockNanos.add(System.nanoTime() - t);
            written.increment();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
