package tyrion.sampling;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import tyrion.support.Json;

/**
 * Thousands of threads that live for less than a millisecond or for a few, some of which change
 * their names. What it prints is the same each time, and so is its exit code, 7.
 *
 * <p>Usage: {@code java tyrion.sampling.Crowd [THREADS]}, default 3000.
 */
public final class Crowd {
    private static final int AT_A_TIME = 16;
    private static final int EXIT_CODE = 7;

    private static final AtomicLong SUM = new AtomicLong();

    private Crowd() {}

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 3000;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Member(i);
            thread.start();
            threads.add(thread);
            if (threads.size() == AT_A_TIME) {
                join(threads);
            }
        }
        join(threads);
        System.out.println(new Json().put("threads", count).put("sum", SUM.get()));
        System.exit(EXIT_CODE);
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
    }

    /** One of them. */
    private static final class Member extends Thread {
        private final int number;

        Member(int number) {
            super("member-" + number);
            this.number = number;
        }

        @Override
        public void run() {
            long value = number;
            for (int i = 0; i < 1000; i++) {
                value = value * 31 + i;
            }
            SUM.addAndGet(value);
            if (number % 5 == 0) {
                setName("renamed-" + number);
            }
            if (number % 3 == 0) {
                try {
                    Thread.sleep(1 + number % 4);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }
}
