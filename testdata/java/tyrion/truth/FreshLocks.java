package tyrion.truth;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code fresh-locks [PAIRS]}: in each pair of threads, one takes a monitor that nobody has used
 * before, and gives it back as soon as the other one, "taker-1" and so on, is blocked on it; then it
 * takes a new one. The pairs have nothing to do with each other. Ends once the file {@code
 * -Dtruth.until=FILE} is there.
 *
 * <p>The file {@code -Dtruth.counters=FILE} holds, per pair, how often the taker has had its monitor,
 * as 8 bytes, little endian. Prints "raging" once all threads have been started, and at the end each
 * pair's number in {@code taken}.
 */
final class FreshLocks implements Scenario {
    private volatile boolean stopping;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int pairCount = arguments.number(0, 2);
        Path until = Paths.get(System.getProperty("truth.until"));
        ByteBuffer counters = counters(System.getProperty("truth.counters"), pairCount);
        List<Pair> pairs = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < pairCount; i++) {
            Pair pair = new Pair(counters, i * Long.BYTES);
            pairs.add(pair);
            pair.taker = Threads.start("taker-" + (i + 1), pair::take);
            threads.add(pair.taker);
            threads.add(Threads.start("giver-" + (i + 1), pair::give));
        }
        System.out.println("raging");
        System.out.flush();
        while (!Files.exists(until)) {
            Threads.sleepMillis(10);
        }
        stopping = true;
        Threads.join(threads);
        List<Long> taken = new ArrayList<>();
        for (Pair pair : pairs) {
            taken.add(pair.taken);
        }
        report.put("taken", taken);
    }

    private static ByteBuffer counters(String file, int pairCount) throws IOException {
        try (FileChannel channel = FileChannel.open(
                Paths.get(file),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) pairCount * Long.BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    /** Two threads, and the monitor between them. */
    private final class Pair {
        private final ByteBuffer counters;
        private final int index;
        private volatile Thread taker;
        private volatile Object next;
        private volatile boolean ended;
        private long taken;

        Pair(ByteBuffer counters, int index) {
            this.counters = counters;
            this.index = index;
        }

        private void give() {
            while (!stopping) {
                Object lock = new Object();
                synchronized (lock) {
                    next = lock;
                    while (taker.getState() != Thread.State.BLOCKED) {
                        Older.onSpinWait();
                    }
                }
                while (next != null) {
                    Older.onSpinWait();
                }
            }
            ended = true;
        }

        private void take() {
            while (!ended) {
                Object lock = next;
                if (lock == null) {
                    Thread.yield();
                    continue;
                }
                synchronized (lock) { // WAIT
                    counters.putLong(index, ++taken);
                }
                next = null;
            }
        }
    }
}
