package tyrion.truth;

import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code probes LOG}: whether the probes of trace mode are on, before the log is truncated and at
 * most ten seconds later. Needs {@code --add-opens=java.base/java.lang=ALL-UNNAMED}.
 */
final class Probes implements Scenario {
    private static final int PATIENCE = 500;

    private final Object lock = new Object();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Field on = Class.forName("java.lang.TyrionTrace").getDeclaredField("on");
        on.setAccessible(true);
        report.put("before", on.getBoolean(null));
        try (RandomAccessFile log = new RandomAccessFile(arguments.text(0, ""), "rw")) {
            log.setLength(0);
        }
        for (int i = 0; i < PATIENCE && on.getBoolean(null); i++) {
            // Each thread is new to the agent, which writes to the log.
            Thread other = Threads.start("other-" + i, this::take);
            other.join();
            Thread.sleep(20);
        }
        report.put("after", on.getBoolean(null));
    }

    private void take() {
        synchronized (lock) {
            Older.onSpinWait();
        }
    }
}
