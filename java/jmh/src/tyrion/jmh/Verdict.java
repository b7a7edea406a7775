package tyrion.jmh;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import tyrion.agent.reading.Command;
import tyrion.agent.reading.Json;

/** What {@code tyrion report} says of a log. */
final class Verdict {
    private final Object sections;

    private Verdict(Object sections) {
        this.sections = sections;
    }

    /**
     * Has a log read, as far as it is about threads whose name matches.
     *
     * @throws IOException with one line that says why it cannot be
     */
    static Verdict of(String command, String log, String threads) throws IOException {
        List<String> options = Arrays.asList("--section", "verdict", "--thread=" + threads);
        return new Verdict(new Command(command, "tyrion=PATH").report(log, options));
    }

    double waitNanos() {
        return Json.number(sections, "verdict", "wait_ns");
    }

    double contended() {
        return Json.number(sections, "verdict", "contended");
    }

    double lostShare() {
        return Json.number(sections, "verdict", "lost_share");
    }

    /** The worst lock: its name in the program, or else its class; empty if there is none. */
    String lock() {
        String name = Json.text(sections, "verdict", "lock", "lock", "name");
        return name.isEmpty() ? Json.text(sections, "verdict", "lock", "lock", "class") : name;
    }

    double lockShare() {
        return Json.number(sections, "verdict", "lock", "wait_share");
    }

    List<String> lines() {
        return Command.lines(sections);
    }
}
