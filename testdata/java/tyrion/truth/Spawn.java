package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code spawn SCENARIO ARGUMENT...}: starts a child JVM, with the java on the PATH, that runs
 * another scenario (default {@code holder-monitor}) and prints on the same stdout. Two JVMs that
 * inherit one environment: each is a process of its own.
 */
final class Spawn implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(
                "java", "-cp", System.getProperty("java.class.path"), Truth.class.getName()));
        command.add(arguments.text(0, "holder-monitor"));
        command.addAll(Arrays.asList(arguments.from(1)));
        Process child = new ProcessBuilder(command).inheritIO().start();
        report.put("pid", Older.pid())
                .put("child_pid", Older.pid(child))
                .put("child_exit", child.waitFor());
    }
}
