package tyrion.junit;

import java.io.File;
import java.util.function.Function;

/** What the user sets, by configuration parameters of JUnit 5 or by system properties. */
final class Settings {
    private final Function<String, String> parameters;

    Settings(Function<String, String> parameters) {
        this.parameters = parameters;
    }

    private String get(String name, String usual) {
        String value = parameters.apply(name);
        if (value == null) {
            value = System.getProperty(name);
        }
        return value == null ? usual : value;
    }

    /** Options of the agent. */
    String options() {
        return get("tyrion.options", "file=" + folder() + "tyrion-tests-%p.log");
    }

    /** Where builds leave what may be removed. */
    private static String folder() {
        for (String name : new String[] {"target", "build"}) {
            if (new File(name).isDirectory()) {
                return name + "/";
            }
        }
        return "";
    }

    /** What reads logs. */
    String command() {
        return get("tyrion.command", "tyrion");
    }

    /** Whether tests fail where nothing can be recorded, or read; else they are skipped. */
    boolean failsWithout() {
        String value = get("tyrion.missing", "skip");
        switch (value) {
            case "fail":
                return true;
            case "skip":
                return false;
            default:
                throw new IllegalArgumentException("tyrion.missing is fail or skip, not " + value);
        }
    }

    /** Whether tests run at the same time. */
    boolean isParallel() {
        return Boolean.parseBoolean(get("tyrion.parallel", "false"))
                || Boolean.parseBoolean(get("junit.jupiter.execution.parallel.enabled", "false"));
    }
}
