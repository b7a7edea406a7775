import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

/** A ForkJoinPool; arguments: its parallelism, what comes, and each how many milliseconds, or how many wait for it. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[3]);
        Meter.start(seconds);
        ForkJoinPool pool = new ForkJoinPool(Integer.parseInt(arguments[1]), ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
        Mailings mailings = new Mailings(pool);
        for (int i = 0; i < 50; i++) {
            pool.submit(mailings::send);
        }
        Meter.pause(200);
        switch (arguments[2]) {
            case "mails":
                if (number > 0) {
                    Meter.each(number, "mails-arrive", () -> pool.execute(mailings::send));
                }
                break;
            case "callers":
                Meter.threads(number, "caller", mailings::sendAndWait);
                break;
            default:
                Meter.threads(number, "analyst", () -> pool.invoke(new Digest(0, 512)));
        }
        Meter.end(seconds, "ForkJoinPool");
    }
}

class Mailings {
    private final ForkJoinPool pool;

    Mailings(ForkJoinPool pool) {
        this.pool = pool;
    }

    void send() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void sendAndWait() throws Exception {
        Meter.waits();
        pool.submit(this::send).get();
        Meter.waited();
    }
}

/** Halves its work until it takes a millisecond. */
class Digest extends RecursiveTask<Integer> {
    private final int from, to;

    Digest(int from, int to) {
        this.from = from;
        this.to = to;
    }

    @Override
    protected Integer compute() {
        if (to - from == 1) {
            Meter.handles();
            int hash = Meter.compute(1);
            Meter.handled();
            return hash;
        }
        Digest left = new Digest(from, (from + to) / 2), right = new Digest((from + to) / 2, to);
        right.fork();
        return left.compute() + right.join();
    }
}
