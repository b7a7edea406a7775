import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** Sessions get their keys from SecureRandoms of their own; below them NativePRNG has one lock for all. */
public class Case {
    static final LongAdder blockedLooks = new LongAdder();
    static final LongAdder looks = new LongAdder();
    static volatile boolean stop;

    static final class SessionKeys extends Thread {
        final SecureRandom random;
        long keys;

        SessionKeys(int number) throws Exception {
            super("session-keys-" + number);
            setDaemon(true);
            random = SecureRandom.getInstance("NativePRNGNonBlocking");
        }

        byte[] newKeyStream() {
            byte[] stream = new byte[16 * 1024];
            random.nextBytes(stream);
            return stream;
        }

        @Override
        public void run() {
            while (!stop) {
                newKeyStream();
                keys++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        List<SessionKeys> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(new SessionKeys(i));
        }
        long start = System.nanoTime();
        threads.forEach(Thread::start);
        while (System.nanoTime() < end) {
            Thread.sleep(20);
            for (Thread thread : threads) {
                looks.increment();
                if (thread.getState() == Thread.State.BLOCKED) {
                    blockedLooks.increment();
                }
            }
        }
        stop = true;
        long keys = threads.stream().mapToLong(t -> t.keys).sum();
        System.out.println("proof: keys=" + keys);
        System.out.println("proof: share_of_looks_blocked=" + (double) blockedLooks.sum() / looks.sum());
        Runtime.getRuntime().halt(0);
    }
}
