import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Each request has a virtual thread; the cache calls its loader inside of ConcurrentHashMap.compute. */
public class Case {
    static final LongAdder loads = new LongAdder();
    static final AtomicInteger loading = new AtomicInteger();
    static final AtomicInteger most = new AtomicInteger();
    static final LongAdder waitedNanos = new LongAdder();

    static String fetchProfile(Integer user) {
        most.accumulateAndGet(loading.incrementAndGet(), Math::max);
        try {
            Thread.sleep(50); // the profile service
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        loading.decrementAndGet();
        loads.increment();
        return "user " + user;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        boolean asynchronous = args.length > 1 && args[1].equals("async");
        AtomicInteger users = new AtomicInteger();
        ExecutorService requests = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("request-", 0).factory());
        Cache<Integer, String> profiles = Caffeine.newBuilder().maximumSize(1000).build();
        var later = Caffeine.newBuilder().maximumSize(1000).executor((Executor) Thread::startVirtualThread).<Integer, String>buildAsync();
        for (int i = 0; i < 40; i++) {
            requests.submit(() -> {
                while (true) {
                    int user = users.incrementAndGet() * 7919;
                    long start = System.nanoTime();
                    if (asynchronous) {
                        later.get(user, Case::fetchProfile).join();
                    } else {
                        profiles.get(user, Case::fetchProfile);
                    }
                    waitedNanos.add(System.nanoTime() - start);
                    Thread.sleep(1);
                }
            });
        }
        CompletableFuture.runAsync(() -> { }, requests).join();
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: loads=" + loads.sum() + " of_50_ms most_at_once=" + most.get() + " virtual_threads=40 in_s=" + measured);
        Runtime.getRuntime().halt(0);
    }
}
