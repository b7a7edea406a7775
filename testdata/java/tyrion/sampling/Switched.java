package tyrion.sampling;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import tyrion.api.Tyrion;

/**
 * Has the agent record, or pause, when somebody puts a file "on" or "off" into a folder; removes the
 * file then. Ends after a minute.
 *
 * <p>Usage: {@code java tyrion.sampling.Switched FOLDER}. Prints "acting" when it has begun.
 */
public final class Switched {
    private Switched() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path folder = Paths.get(args[0]);
        System.out.println("acting");
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < 60_000_000_000L) {
            obey(folder.resolve("on"), true);
            obey(folder.resolve("off"), false);
            Thread.sleep(5);
        }
    }

    private static void obey(Path order, boolean on) throws IOException {
        if (Files.exists(order)) {
            Tyrion.enabled(on);
            Files.delete(order);
        }
    }
}
