package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code collections [TIMES [STEPS [FOLDER]]]}: in each step, TIMES calls of {@link System#gc}, each
 * while a thread "waiter" waits for a monitor. If there is a FOLDER, a step begins once a file of
 * its number is there, and prints "collected" and its number when it is over.
 */
final class Collected implements Scenario {
    private final Object door = new Object();
    private final List<Json> calls = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int times = arguments.number(0, 5);
        int steps = arguments.number(1, 1);
        String folder = arguments.text(2, "");
        for (int step = 0; step < steps; step++) {
            if (!folder.isEmpty()) {
                begin(Paths.get(folder).resolve(Integer.toString(step)));
            }
            for (int i = 0; i < times; i++) {
                collect(step);
            }
            if (!folder.isEmpty()) {
                System.out.println("collected " + step);
            }
        }
        report.put("calls", calls);
    }

    private static void begin(Path file) {
        System.out.flush();
        while (!Files.exists(file)) {
            Threads.sleepMillis(5);
        }
    }

    private void collect(int step) {
        Thread waiter;
        synchronized (door) {
            waiter = Threads.start("waiter", this::pass);
            Threads.awaitBlocked(waiter);
            long start = System.nanoTime();
            System.gc();
            long end = System.nanoTime();
            calls.add(new Json().put("step", step).put("start_ns", start).put("end_ns", end));
        }
        Threads.join(waiter);
    }

    private void pass() {
        synchronized (door) { // WAIT
            Older.onSpinWait();
        }
    }
}
