package tyrion.subjects;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Phaser;
import tyrion.support.Json;

/**
 * Orders that all want the same stock: a lock whose waits are known. In each round all threads ask
 * for it at once, and each keeps it, asleep, for HOLDMICROS, so that the n-th waits (n-1) times as
 * long. Work does not get less when the lock is held longer, as it would in a loop that goes on as
 * soon as it can: twice the hold is twice the waiting.
 *
 * <p>Usage: {@code java tyrion.subjects.Orders [HOLDMICROS [ROUNDS [THREADS]]]}, defaults 2000, 150
 * and 6. Prints one JSON object: {@code wait_ns} is what the threads measured themselves.
 */
public final class Orders {
    private final Stock stock = new Stock();
    private final Phaser together = new Phaser();
    private final long holdMicros;
    private long waitNanos;

    private Orders(long holdMicros) {
        this.holdMicros = holdMicros;
    }

    public static void main(String[] args) throws InterruptedException {
        long holdMicros = args.length > 0 ? Long.parseLong(args[0]) : 2000;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 150;
        int threadCount = args.length > 2 ? Integer.parseInt(args[2]) : 6;
        System.out.println(new Orders(holdMicros).run(rounds, threadCount));
    }

    private Json run(int rounds, int threadCount) throws InterruptedException {
        together.bulkRegister(threadCount);
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            threads.add(new Thread(() -> order(rounds), "order-" + i));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        return new Json()
                .put("subject", "Orders")
                .put("threads", threadCount)
                .put("rounds", rounds)
                .put("wait_ns", waitNanos);
    }

    private void order(int rounds) {
        for (int i = 0; i < rounds; i++) {
            together.arriveAndAwaitAdvance();
            long asked = System.nanoTime();
            synchronized (stock) {
                waitNanos += System.nanoTime() - asked;
                stock.take(holdMicros);
            }
        }
    }

    /** What is taken by one order at a time. */
    private static final class Stock {
        private void take(long holdMicros) {
            try {
                Thread.sleep(holdMicros / 1000, (int) (holdMicros % 1000) * 1000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
