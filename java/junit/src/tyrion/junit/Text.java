package tyrion.junit;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tyrion.agent.reading.Command;
import tyrion.agent.reading.Json;

/** What a failure says. */
final class Text {
    /** More rings, and more frames of each stack, are in the log. */
    private static final int MOST_RINGS = 3;

    private static final int MOST_FRAMES = 3;

    private Text() {}

    /** A duration in the unit that suits it. */
    static String duration(double nanos) {
        String[] units = {"ns", "us", "ms", "s"};
        int unit = 0;
        double value = nanos;
        while (unit < units.length - 1 && value >= 1000) {
            value /= 1000;
            unit++;
        }
        String digits = String.format(Locale.ROOT, value < 10 ? "%.1f" : "%.0f", value);
        return (digits.endsWith(".0") ? digits.substring(0, digits.length() - 2) : digits)
                + " " + units[unit];
    }

    /** Of waits: how many, what the verdict is, where threads wait and who has the lock. */
    static List<String> ofWaits(Object sections) {
        List<String> lines = new ArrayList<>();
        for (String line : Command.lines(sections)) {
            // The command that shows more is not of this test alone, and the warning is of the
            // whole recording.
            if (!line.startsWith("Next:") && !line.startsWith("! ")) {
                lines.add(line);
            }
        }
        for (Object pair : Json.list(sections, "blockers", "code")) {
            String holder = Json.text(pair, "holder");
            if (holder.isEmpty()) {
                holder = Json.text(pair, "holders");
            }
            lines.add(
                    Json.text(pair, "waiter") + " waited " + duration(Json.number(pair, "wait_ns"))
                            + " for " + lock(Json.at(pair, "lock")) + ", which "
                            + (holder.isEmpty() ? "nobody was seen to have" : holder + " had"));
        }
        return lines;
    }

    /** Of rings: which locks, by whom, and where. */
    static List<String> ofRings(List<?> rings) {
        List<String> lines = new ArrayList<>();
        for (Object ring : rings.subList(0, Math.min(rings.size(), MOST_RINGS))) {
            for (Object edge : Json.list(ring, "edges")) {
                lines.add(
                        Json.text(edge, "thread") + " took " + lock(Json.at(edge, "inner", "lock"))
                                + " in " + place(Json.list(edge, "inner_stack")) + " while it held "
                                + lock(Json.at(edge, "outer", "lock")) + ", taken in "
                                + place(Json.list(edge, "outer_stack")));
            }
        }
        return lines;
    }

    private static String place(List<?> stack) {
        List<String> frames = new ArrayList<>();
        for (Object frame : stack.subList(0, Math.min(stack.size(), MOST_FRAMES))) {
            frames.add(String.valueOf(frame));
        }
        return String.join(" < ", frames);
    }

    /** A lock by its name in the program, or else by its class. */
    private static String lock(Object lock) {
        String name = Json.text(lock, "name");
        return name.isEmpty() ? Json.text(lock, "class") : name;
    }
}
