import java.util.concurrent.atomic.AtomicInteger;
import kotlin.Unit;
import kotlin.coroutines.CoroutineContext;
import kotlinx.coroutines.BuildersKt;
import kotlinx.coroutines.CoroutineStart;
import kotlinx.coroutines.ExecutorCoroutineDispatcher;
import kotlinx.coroutines.GlobalScope;
import kotlinx.coroutines.ThreadPoolDispatcherKt;

/** Orders are coroutines; one old function bridges back to blocking code, on the same dispatcher. */
public class Case {
    static final AtomicInteger placed = new AtomicInteger();
    static volatile long lastPlaced;

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        ExecutorCoroutineDispatcher orders = ThreadPoolDispatcherKt.newFixedThreadPoolContext(4, "orders");
        boolean elsewhere = args.length > 1 && args[1].equals("elsewhere");
        CoroutineContext prices =
                elsewhere ? ThreadPoolDispatcherKt.newFixedThreadPoolContext(4, "prices") : orders;
        BuildersKt.runBlocking(orders, (scope, then) -> {
            place(prices); // loads classes
            return null;
        });
        long begun = System.nanoTime();
        AtomicInteger sent = new AtomicInteger();
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            // After two seconds there are more customers.
            int customers = System.nanoTime() - begun < 2_000_000_000L ? 1 : 6;
            for (int i = 0; i < customers; i++) {
                sent.incrementAndGet();
                BuildersKt.launch(GlobalScope.INSTANCE, orders, CoroutineStart.DEFAULT, (scope, then) -> {
                    place(prices);
                    return Unit.INSTANCE;
                });
            }
            Thread.sleep(100);
        }
        int waiting = 0;
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            boolean waits = thread.getState() == Thread.State.TIMED_WAITING;
            waiting += waits && thread.getName().startsWith("orders-") ? 1 : 0;
        }
        System.out.println("proof: orders=" + sent + " placed=" + placed);
        System.out.printf("proof: last_placed_after_seconds=%.1f%n", (lastPlaced - begun) / 1e9);
        System.out.println("proof: orders_threads_waiting=" + waiting);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void place(CoroutineContext prices) {
        pause(20); // the basket
        priceOf(prices);
        placed.incrementAndGet();
        lastPlaced = System.nanoTime();
    }

    /** Part of an interface that knows no coroutines. */
    static int priceOf(CoroutineContext prices) {
        try {
            return BuildersKt.runBlocking(prices, (scope, then) -> {
                pause(5);
                return 99;
            });
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
