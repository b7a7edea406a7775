import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A scheduled pool of 4 threads, with housekeeping that is rarely due; arguments: what else it does, in how many series. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        AtomicInteger threads = new AtomicInteger();
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(4, task -> new Thread(task, "timer-" + threads.incrementAndGet()));
        Sensors sensors = new Sensors(pool);
        for (int i = 0; i < 12; i++) {
            pool.scheduleAtFixedRate(sensors::check, 0, 5 + i, TimeUnit.SECONDS);
        }
        int series = Integer.parseInt(arguments[2]);
        for (int i = 0; i < series; i++) {
            switch (arguments[1]) {
                case "read":
                    pool.scheduleWithFixedDelay(sensors::read, 0, 1, TimeUnit.MILLISECONDS);
                    break;
                case "calibrate":
                    pool.scheduleWithFixedDelay(sensors::calibrate, 0, 1, TimeUnit.MILLISECONDS);
                    break;
                default:
                    pool.schedule(sensors::compare, 100, TimeUnit.MILLISECONDS);
            }
        }
        Meter.end(seconds, "timer-");
    }
}

class Sensors {
    private final ScheduledExecutorService pool;
    private double zero;

    Sensors(ScheduledExecutorService pool) {
        this.pool = pool;
    }

    void check() {
        Meter.pause(1);
    }

    void read() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void calibrate() {
        Meter.handles();
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            zero = zero / 2 + 1;
            Meter.pause(20);
        }
        Meter.handled();
    }

    /** Waits in a thread of the pool for what the pool has to do. */
    void compare() {
        CountDownLatch both = new CountDownLatch(2);
        pool.schedule(both::countDown, 10, TimeUnit.MILLISECONDS);
        pool.schedule(both::countDown, 20, TimeUnit.MILLISECONDS);
        Meter.waits();
        try {
            both.await();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        Meter.waited();
    }
}
