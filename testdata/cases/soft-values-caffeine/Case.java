import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** A cache without a size keeps its values by soft references, so the heap is always full. */
public class Case {
    static final LongAdder requests = new LongAdder();
    static final LongAdder lockNanos = new LongAdder();
    static final Object statistics = new Object();
    static long bytesServed;

    static byte[][] render(Integer page) {
        byte[][] lines = new byte[64][];
        for (int i = 0; i < lines.length; i++) {
            lines[i] = new byte[48 + (page + i) % 32];
        }
        return lines;
    }

    static void serve(Cache<Integer, byte[][]> pages) {
        byte[][] page = pages.get(ThreadLocalRandom.current().nextInt(2_000_000), Case::render);
        long start = System.nanoTime();
        synchronized (statistics) {
            bytesServed += page.length * 64L;
        }
        lockNanos.add(System.nanoTime() - start);
        requests.increment();
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        boolean bounded = args.length > 1 && args[1].equals("bounded");
        Cache<Integer, byte[][]> pages = bounded
                ? Caffeine.newBuilder().maximumSize(500).build()
                : Caffeine.newBuilder().softValues().build();
        long begun = System.nanoTime();
        long collectedMs = collected();
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    serve(pages);
                }
            }, "page-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000 - 500));
        System.out.println("proof: requests=" + requests.sum() + " in_s=" + (System.nanoTime() - begun) / 1e9);
        System.out.println("proof: collections_s=" + (collected() - collectedMs) / 1e3);
        System.out.println("proof: at_the_lock_s=" + lockNanos.sum() / 1e9);
        Runtime.getRuntime().halt(0);
    }

    static long collected() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum();
    }
}
