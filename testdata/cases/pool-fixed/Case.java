import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A pool of 8 threads with a LinkedBlockingQueue; arguments: how documents come, and each how many milliseconds, or how many who bring them. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        AtomicInteger threads = new AtomicInteger();
        boolean bounded = arguments[1].equals("bulk");
        ThreadPoolExecutor pool = new ThreadPoolExecutor(8, 8, 0, TimeUnit.SECONDS,
                bounded ? new LinkedBlockingQueue<>(16) : new LinkedBlockingQueue<>(),
                task -> new Thread(task, "convert-" + threads.incrementAndGet()), Converter::waitForRoom);
        pool.prestartAllCoreThreads();
        Converter converter = new Converter(pool);
        for (int i = 0; i < 20; i++) {
            converter.sendAndWait();
        }
        if (arguments[1].equals("post") && number > 0) {
            Meter.each(number, "post", () -> pool.execute(converter::convert));
        } else if (arguments[1].equals("desks")) {
            Meter.threads(number, "desk", converter::sendAndWait);
        } else if (bounded) {
            Meter.threads(number, "bulk", converter::send);
        }
        Meter.end(seconds, "convert-");
    }
}

class Converter {
    private final ThreadPoolExecutor pool;

    Converter(ThreadPoolExecutor pool) {
        this.pool = pool;
    }

    void convert() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void send() {
        pool.execute(this::convert);
    }

    void sendAndWait() throws Exception {
        Meter.waits();
        pool.submit(this::convert).get();
        Meter.waited();
    }

    /** What the pool does with documents while its queue is full. */
    static void waitForRoom(Runnable document, ThreadPoolExecutor pool) {
        Meter.waits();
        try {
            pool.getQueue().put(document);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
        Meter.waited();
    }
}
