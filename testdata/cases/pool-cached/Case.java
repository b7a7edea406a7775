import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A cached pool that has 8 threads from busier times; arguments: what is done, and each how many milliseconds. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        AtomicInteger threads = new AtomicInteger();
        ExecutorService pool = Executors.newCachedThreadPool(task -> new Thread(task, "upload-" + threads.incrementAndGet()));
        Uploads uploads = new Uploads();
        for (int i = 0; i < 8; i++) {
            pool.execute(uploads::store);
        }
        Meter.pause(100);
        int millis = Integer.parseInt(arguments[2]);
        if (millis > 0) {
            Meter.each(millis, "users", () -> pool.execute(arguments[1].equals("store") ? uploads::store : uploads::index));
        } else if (arguments[1].equals("index")) {
            // Three users, each of whom begins again when done.
            for (int i = 0; i < 3; i++) {
                pool.execute(new Indexing(pool, uploads));
            }
        }
        Meter.end(seconds, "upload-");
    }
}

class Uploads {
    private final SearchIndex index = new SearchIndex();

    void store() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void index() {
        Meter.handles();
        Meter.waits();
        index.add();
        Meter.handled();
    }
}

class SearchIndex {
    private int entries;

    synchronized void add() {
        Meter.waited();
        Meter.pause(20);
        entries++;
    }
}

class Indexing implements Runnable {
    private final ExecutorService pool;
    private final Uploads uploads;

    Indexing(ExecutorService pool, Uploads uploads) {
        this.pool = pool;
        this.uploads = uploads;
    }

    @Override
    public void run() {
        uploads.index();
        pool.execute(this);
    }
}
