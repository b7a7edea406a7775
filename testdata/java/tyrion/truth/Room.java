package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code room FOLDER [CROWD]}: three steps, each of which begins once a file of its name is in the
 * folder, and prints its name when it is over. In "crowd", CROWD threads wait for one monitor at
 * the same time: each takes some room in a log. In "meanwhile", and then in "after", a thread of
 * this name takes a monitor of its own TIMES times, in a class that was not loaded before, and WAITERS threads "NAME-waiter" wait once for
 * one that is held until all of them were seen to wait.
 */
final class Room implements Scenario {
    private static final int TIMES = 100_000;
    private static final int WAITERS = 8;

    private final Object own = new Object();
    private final Object door = new Object();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Path folder = Paths.get(arguments.text(0, "."));
        int crowd = arguments.number(1, 1800);
        report.put("is_nan", Double.isNaN(NotANumber.of(ReentrantLock.class)));
        System.out.println("ready");
        begin(folder, "crowd");
        meet("crowd", crowd);
        System.out.println("crowd");
        for (String step : Arrays.asList("meanwhile", "after")) {
            begin(folder, step);
            Threads.join(Threads.start(step, () -> Late.take(own)));
            meet(step + "-waiter", WAITERS);
            System.out.println(step);
        }
        report.put("times", TIMES).put("waiters", WAITERS);
    }

    private static void begin(Path folder, String step) {
        System.out.flush();
        while (!Files.exists(folder.resolve(step))) {
            Threads.sleepMillis(5);
        }
    }

    /** Mentions locks and takes none. NaN is its own constant, once more whenever it is redefined. */
    private static final class NotANumber {
        private static final Class<?> LOCK = ReentrantLock.class;

        private static double of(Class<?> type) {
            return type == LOCK ? Double.NaN : 0;
        }
    }

    /** Loaded in "meanwhile". */
    private static final class Late {
        private static void take(Object own) {
            for (int i = 0; i < TIMES; i++) {
                synchronized (own) {
                    Older.onSpinWait();
                }
            }
        }
    }

    private void meet(String name, int count) {
        List<Thread> threads = new ArrayList<>();
        synchronized (door) {
            for (int i = 0; i < count; i++) {
                threads.add(Threads.start(name, this::pass));
            }
            // So many that each must not ask Linux for all of them.
            threads.forEach(Threads::awaitState);
        }
        Threads.join(threads);
    }

    private void pass() {
        synchronized (door) { // WAIT
            Older.onSpinWait();
        }
    }
}
