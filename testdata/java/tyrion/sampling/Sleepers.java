package tyrion.sampling;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;

/**
 * Many threads that do nothing. The last line on stdout is one JSON object: for how long all of them
 * did.
 *
 * <p>Usage: {@code java tyrion.sampling.Sleepers [THREADS [MILLIS]]}, defaults 1000 and 3000.
 */
public final class Sleepers {
    private Sleepers() {}

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        int millis = args.length > 1 ? Integer.parseInt(args[1]) : 3000;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Sleeper();
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        long begin = System.nanoTime();
        Thread.sleep(millis);
        System.out.println(new Json()
                .put("threads", threads.size())
                .put("slept_ns", System.nanoTime() - begin));
    }

    /** One of them. */
    private static final class Sleeper extends Thread {
        Sleeper() {
            super(null, null, "sleeper", 1 << 16);
        }

        @Override
        public void run() {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
