package tyrion.jmh;

import java.io.File;
import org.openjdk.jmh.infra.BenchmarkParams;

/** What follows {@code -prof tyrion:}. */
final class Settings {
    private final String agent;
    private final File folder;
    private final String command;

    private Settings(String agent, File folder, String command) {
        this.agent = agent;
        this.folder = folder;
        this.command = command;
    }

    static Settings of(String options) {
        StringBuilder agent = new StringBuilder();
        String folder = "tyrion-jmh";
        String command = "tyrion";
        for (String option : options.split(";")) {
            if (option.startsWith("dir=")) {
                folder = option.substring("dir=".length());
            } else if (option.startsWith("tyrion=")) {
                command = option.substring("tyrion=".length());
            } else if (!option.isEmpty()) {
                agent.append(option).append(',');
            }
        }
        // The fork may have another working folder.
        return new Settings(agent.toString(), new File(folder).getAbsoluteFile(), command);
    }

    File folder() {
        return folder;
    }

    String command() {
        return command;
    }

    /** The agent's options, and one more. */
    String agent(String last) {
        return agent + last;
    }

    /** The log of each fork of a benchmark with its parameters; {@code %p} is its process id. */
    String log(BenchmarkParams params) {
        StringBuilder name = new StringBuilder(params.getBenchmark());
        name.append('-').append(params.getMode().shortLabel());
        for (String key : params.getParamsKeys()) {
            name.append('-').append(key).append('-').append(params.getParam(key));
        }
        String plain = name.toString().replaceAll("[^A-Za-z0-9._-]", "_");
        // Longer names are no names of files.
        String cut = plain.length() > 180 ? plain.substring(plain.length() - 180) : plain;
        return new File(folder, cut + "-%p.log").getPath();
    }

    /** A log's path, of a process. */
    static String file(String log, long pid) {
        return log.replace("%p", Long.toString(pid));
    }

    /** As a value of an option of the agent. */
    static String escaped(String value) {
        return value.replace("\\", "\\\\").replace(",", "\\,");
    }
}
