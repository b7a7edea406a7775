import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.security.crypto.bcrypt.BCryptPasswordEncoder;

/** Each request brings its password anew, and BCrypt checks it; all requests touch one table of sessions. */
public class Case {
    static final AtomicInteger checked = new AtomicInteger();
    static final LongAdder checkNanos = new LongAdder();
    static final LongAdder lockNanos = new LongAdder();
    static final LongAdder touches = new LongAdder();
    static final Map<Integer, Long> sessions = Collections.synchronizedMap(new LinkedHashMap<>(64, 0.75f, true));

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        BCryptPasswordEncoder encoder = new BCryptPasswordEncoder(10);
        String stored = encoder.encode("open sesame");
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(() -> serve(encoder, stored), "http-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, seconds * 1000L - (begun - start) / 1_000_000));
        System.out.println("proof: checked=" + checked + " touches=" + touches);
        System.out.printf("proof: seconds_checking=%.1f of %.1f, at_the_table=%.3f%n", checkNanos.sum() / 1e9,
            2 * (System.nanoTime() - begun) / 1e9, lockNanos.sum() / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(BCryptPasswordEncoder encoder, String stored) {
        while (true) {
            long t = System.nanoTime();
            encoder.matches("open sesame", stored);
            long checkedAt = System.nanoTime();
            checkNanos.add(checkedAt - t);
            for (int i = 0; i < 500; i++) {
                sessions.put(i % 50, checkedAt);
            }
            lockNanos.add(System.nanoTime() - checkedAt);
            touches.add(500);
            checked.incrementAndGet();
        }
    }
}
