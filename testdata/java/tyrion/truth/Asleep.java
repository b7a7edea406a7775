package tyrion.truth;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether a thread has come to rest. The JVM says that a thread is blocked before it tells an agent
 * of it: on a loaded machine some milliseconds before, if the thread loses its processor in
 * between. The kernel says that it sleeps only after that.
 */
final class Asleep {
    private static final Path TASKS = Paths.get("/proc/self/task");
    /** The kernel keeps no more of a thread's name. */
    private static final int NAME_BYTES = 15;

    private Asleep() {}

    /**
     * Returns once a thread that waits sleeps as well, and when that was, as {@link
     * System#nanoTime} has it. Returns at once where the kernel's thread is not known: for a
     * virtual thread, or one of several of a name.
     */
    static long await(Thread thread) {
        try {
            List<Path> tasks = named(thread.getName());
            while (tasks.size() == 1 && thread.isAlive() && !isAsleep(tasks.get(0))) {
                Threads.sleepMillis(1);
            }
        } catch (IOException e) {
            // It has ended.
        }
        return System.nanoTime();
    }

    private static List<Path> named(String name) throws IOException {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        String known =
                new String(bytes, 0, Math.min(bytes.length, NAME_BYTES), StandardCharsets.UTF_8);
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path task : tasks) {
                if (read(task, "comm").trim().equals(known)) {
                    found.add(task);
                }
            }
        }
        return found;
    }

    /** The state is the letter behind the name, which is in brackets and may hold any. */
    private static boolean isAsleep(Path task) throws IOException {
        String stat = read(task, "stat");
        return stat.startsWith(") S", stat.lastIndexOf(')'));
    }

    private static String read(Path task, String file) throws IOException {
        return new String(Files.readAllBytes(task.resolve(file)), StandardCharsets.UTF_8);
    }
}
