import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.security.crypto.password.StandardPasswordEncoder;

/** Basic authentication checks the password in each request; all share one encoder. */
public class Case {
    static final AtomicInteger checked = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        StandardPasswordEncoder encoder = new StandardPasswordEncoder("pepper");
        String stored = encoder.encode("open sesame");
        for (int i = 0; i < 500; i++) {
            encoder.matches("open sesame", stored);
        }
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(encoder, stored), "http-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        int blocked = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            Thread.sleep(50);
            for (Thread thread : threads) {
                seen++;
                blocked += thread.getState() == Thread.State.BLOCKED ? 1 : 0;
            }
        }
        System.out.println("proof: checked=" + checked);
        System.out.println("proof: mean_ms=" + nanos.get() / 1e6 / Math.max(1, checked.get()));
        System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(StandardPasswordEncoder encoder, String stored) {
        while (true) {
            long t = System.nanoTime();
            encoder.matches("open sesame", stored);
            nanos.addAndGet(System.nanoTime() - t);
            checked.incrementAndGet();
            try {
                Thread.sleep(1); // reads what was asked for
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
