package tyrion.truth;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import tyrion.support.Json;

/**
 * Contention inside the JDK's own classes, as a user meets it: a slow callback runs under a lock
 * that the caller never sees. One contention of 80 ms or more each, the waiter's thread named
 * after the class.
 */
final class JdkLocks implements Scenario {
    private static final long WAIT_MILLIS = 80;

    private final List<Json> contentions = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        inConcurrentHashMap();
        inHashtable();
        inSynchronizedMap();
        inVector();
        inStringBuffer();
        report.put("contentions", contentions.size()).put("waits", contentions);
    }

    /** A second thread wants the entry that the first is still computing. */
    private void inConcurrentHashMap() throws InterruptedException {
        Map<String, Integer> map = new ConcurrentHashMap<>();
        meet(
                "concurrent-hash-map",
                whileHeld -> map.computeIfAbsent("rate", key -> slowly(whileHeld)),
                () -> map.computeIfAbsent("rate", key -> 2)); // WAIT
    }

    private void inHashtable() throws InterruptedException {
        Map<String, Integer> map = new Hashtable<>();
        meet(
                "hashtable",
                whileHeld -> map.computeIfAbsent("rate", key -> slowly(whileHeld)),
                () -> map.get("rate")); // WAIT
    }

    private void inSynchronizedMap() throws InterruptedException {
        Map<String, Integer> map = Collections.synchronizedMap(new HashMap<>());
        meet(
                "synchronized-map",
                whileHeld -> map.computeIfAbsent("rate", key -> slowly(whileHeld)),
                () -> map.get("rate")); // WAIT
    }

    private void inVector() throws InterruptedException {
        Vector<Integer> vector = new Vector<>(Collections.singleton(1));
        meet(
                "vector",
                whileHeld -> vector.forEach(element -> whileHeld.run()),
                () -> vector.add(2)); // WAIT
    }

    private void inStringBuffer() throws InterruptedException {
        StringBuffer buffer = new StringBuffer();
        meet(
                "string-buffer",
                whileHeld -> buffer.append(new Object() {
                    @Override
                    public String toString() {
                        return String.valueOf(slowly(whileHeld));
                    }
                }),
                () -> buffer.append('x')); // WAIT
    }

    private static int slowly(Runnable whileHeld) {
        whileHeld.run();
        return 1;
    }

    private void meet(String name, Holder.Taking taking, Runnable use) throws InterruptedException {
        Waiter waiter = new Waiter(() -> {
            long asked = System.nanoTime();
            use.run();
            return System.nanoTime() - asked;
        });
        long leastNanos = Encounter.stage(
                new Holder(taking),
                Threads.named("holder-of-" + name),
                WAIT_MILLIS,
                waiter,
                Threads.named(name));
        contentions.add(new Json()
                .put("thread", name)
                .put("least_ns", leastNanos)
                .put("wait_ns", waiter.waitNanos())
                .put("blocked_count", waiter.blockedCount()));
    }
}
