package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Lets a test attach a profiler before a scenario begins: with {@code -Dtruth.go=FILE} the scenario
 * prints "ready" and waits until FILE is there.
 */
final class Go {
    private Go() {}

    static void await() {
        String file = System.getProperty("truth.go");
        if (file != null) {
            System.out.println("ready");
            System.out.flush();
            while (!Files.exists(Paths.get(file))) {
                Threads.sleepMillis(5);
            }
        }
    }
}
