package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * Threads whose names give orders to terminals, turn the direction of reading, cannot be seen, or
 * are very long. Each waits once for one monitor. In {@code names} they stand as UTF-8 can have
 * them: a surrogate without its other half is a replacement character.
 */
final class HostileNames implements Scenario {
    private static final long WAIT_MILLIS = 15;
    private static final int LONG = 4_000;

    private static final String[] NAMES = {
        "turned \u202e\u2066 round",
        "\u001b[31mred \u001b]0;title\u0007",
        "next\u0085line\u009b2J\u2028and\r\nmore",
        "emoji \ud83d\ude00 whole",
        "high \ud83d alone",
        "low \ude00 alone",
        "tab\tsemi;colon 7",
        "not\u200bseen\u200d\ufeff",
    };

    private final Guard guard = Guard.of("monitor");
    private final List<String> shown = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        for (String name : NAMES) {
            waitOnce(name);
        }
        waitOnce(Older.repeat("x", LONG));
        report.put("names", shown);
    }

    private void waitOnce(String name) throws InterruptedException {
        Encounter.stage(
                new Holder(guard),
                Threads.named("hostile-holder"),
                WAIT_MILLIS,
                new Waiter(guard),
                Threads.named(name));
        shown.add(name.replace("high \ud83d", "high \ufffd").replace("low \ude00", "low \ufffd"));
    }
}
