package tyrion.truth;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import tyrion.api.Tyrion;
import tyrion.support.Json;

/**
 * {@code groups-later SECONDS}: the API is in use, by many class loaders, when the agent comes. Each
 * millisecond another loader loads and initializes it. Some time after the agent was noticed all of
 * them are asked whether they know; then "main" waits in two groups, of two loaders.
 */
final class GroupsLater implements Scenario {
    private static final long WAIT_MILLIS = 40;
    private static final long PATIENCE_MILLIS = 500;

    private final List<Class<?>> others = new ArrayList<>();

    @Override
    @SuppressWarnings("try")
    public void run(Arguments arguments, Json report) throws Exception {
        long end = System.nanoTime() + arguments.number(0, 20) * 1_000_000_000L;
        report.put("present_before", Tyrion.present());
        load();
        System.out.println("ready");
        while (!Tyrion.present() && System.nanoTime() < end) {
            load();
            Threads.sleepMillis(1);
        }
        for (int i = 0; i < PATIENCE_MILLIS; i++) {
            load();
            Threads.sleepMillis(1);
        }
        int ignorant = 0;
        for (Class<?> other : others) {
            if (!(Boolean) other.getMethod("present").invoke(null)) {
                ignorant++;
            }
        }
        try (Tyrion.Group group = Tyrion.group("here")) {
            report.put("here_ns", Delay.atMonitor(new Object(), WAIT_MILLIS));
        }
        Method group = others.get(0).getMethod("group", String.class);
        try (AutoCloseable there = (AutoCloseable) group.invoke(null, "there")) {
            report.put("there_ns", Delay.atMonitor(new Object(), WAIT_MILLIS));
        }
        report.put("present", Tyrion.present())
                .put("loaders", others.size())
                .put("ignorant", ignorant);
    }

    /** Another class of that name, initialized. */
    private void load() throws Exception {
        String found = null;
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            found = entry.endsWith("tyrion-api.jar") ? entry : found;
        }
        URL[] jar = {new File(found).toURI().toURL()};
        ClassLoader loader = new URLClassLoader(jar, null);
        others.add(Class.forName("tyrion.api.Tyrion", true, loader));
    }
}
