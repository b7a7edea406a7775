package tyrion.sampling;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tyrion.support.Json;

/**
 * The rule of the sampler that Tyrion's lines come from, once more: every snapshot is a tick for
 * the topmost frame of each thread that has a line number, among the five topmost ones.
 */
final class LinesRule extends Rule {
    private static final int DEPTH = Integer.MAX_VALUE;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final Map<String, Integer> ticks = new HashMap<>();

    LinesRule(int periodMillis) {
        super("forebear-lines", periodMillis);
    }

    @Override
    void begin() {}

    @Override
    void sample() {
        for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds(), DEPTH)) {
            if (thread != null && isWatched(thread.getThreadName())) {
                tick(thread.getStackTrace());
            }
        }
    }

    private void tick(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            if (frame.getLineNumber() > 0) {
                String line = frame.getClassName() + "." + frame.getMethodName() + ":"
                        + frame.getLineNumber();
                ticks.merge(line, 1, Integer::sum);
                return;
            }
        }
    }

    List<Json> measured() {
        List<String> lines = new ArrayList<>(ticks.keySet());
        lines.sort((a, b) -> Integer.compare(ticks.get(b), ticks.get(a)));
        List<Json> each = new ArrayList<>();
        for (String line : lines) {
            each.add(new Json().put("line", line).put("ticks", ticks.get(line)));
        }
        return each;
    }
}
