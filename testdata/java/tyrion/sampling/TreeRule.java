package tyrion.sampling;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import tyrion.support.Json;

/**
 * The rule of the sampler that Tyrion's tree comes from, once more and in plain Java: snapshots of
 * all threads' stacks, summed up by groups of threads.
 *
 * <ul>
 *   <li>A thread's group is its name without long hexadecimal numbers and without dots, colons and
 *       digits.
 *   <li>A snapshot charges a thread with the time since the snapshot before.
 *   <li>Of a stack there remain the frames down to the innermost one of an interesting package and
 *       the one that it calls; of a stack without one, the outermost frame.
 * </ul>
 */
final class TreeRule extends Rule {
    private final String interesting;
    private final Map<String, Group> groups = new TreeMap<>();
    private long lastNanos;

    TreeRule(int periodMillis, String interesting) {
        super("forebear-tree", periodMillis);
        this.interesting = interesting;
    }

    @Override
    void begin() {
        lastNanos = System.nanoTime();
    }

    @Override
    void sample() {
        Map<Thread, StackTraceElement[]> stacks = Thread.getAllStackTraces();
        long now = System.nanoTime();
        for (Map.Entry<Thread, StackTraceElement[]> stack : stacks.entrySet()) {
            String name = stack.getKey().getName();
            if (isWatched(name) && stack.getValue().length > 0) {
                groups.computeIfAbsent(groupName(name), key -> new Group())
                        .add(name, kept(stack.getValue()), now - lastNanos);
            }
        }
        lastNanos = now;
    }

    private static String groupName(String thread) {
        return thread.replaceAll("[0-9a-f]{16,}", "").replaceAll("[.:\\d]+", "");
    }

    /** What the packages leave of a stack, outermost frame first. */
    private List<String> kept(StackTraceElement[] stack) {
        int innermost = stack.length - 1;
        for (int i = 0; i < stack.length; i++) {
            if (stack[i].getClassName().startsWith(interesting)) {
                innermost = Math.max(i - 1, 0);
                break;
            }
        }
        List<String> kept = new ArrayList<>();
        for (int i = stack.length - 1; i >= innermost; i--) {
            kept.add(stack[i].getClassName() + "." + stack[i].getMethodName());
        }
        return kept;
    }

    List<Json> measured() {
        List<Json> each = new ArrayList<>();
        for (Map.Entry<String, Group> group : groups.entrySet()) {
            each.add(group.getValue().measured(group.getKey()));
        }
        return each;
    }

    /** Threads of which the names are alike. */
    private static final class Group {
        private final Node root = new Node();
        private final TreeSet<String> threads = new TreeSet<>();
        private int depth;

        void add(String thread, List<String> frames, long nanos) {
            threads.add(thread);
            depth = Math.max(depth, frames.size());
            Node node = root;
            node.cumulativeNanos += nanos;
            for (String frame : frames) {
                node = node.callees.computeIfAbsent(frame, key -> new Node());
                node.cumulativeNanos += nanos;
            }
            node.methodNanos += nanos;
        }

        Json measured(String name) {
            List<Json> nodes = new ArrayList<>();
            root.measured("", nodes);
            return new Json()
                    .put("group", name)
                    .put("threads", new ArrayList<>(threads))
                    .put("depth", depth)
                    .put("wall_ns", root.cumulativeNanos)
                    .put("nodes", nodes);
        }
    }

    /** A method, as called by those above it. */
    private static final class Node {
        private final Map<String, Node> callees = new LinkedHashMap<>();
        private long cumulativeNanos;
        private long methodNanos;

        /**
         * Its callees and what is below them. A node that took no time itself and has one callee,
         * which then took all of the time, is not worth a line.
         */
        void measured(String path, List<Json> nodes) {
            for (Map.Entry<String, Node> callee : callees.entrySet()) {
                Node node = callee.getValue();
                String itsPath = path + callee.getKey();
                nodes.add(new Json()
                        .put("path", itsPath)
                        .put("hidden", node.methodNanos == 0 && node.callees.size() == 1)
                        .put("cumulative_ns", node.cumulativeNanos)
                        .put("method_ns", node.methodNanos));
                node.measured(itsPath + ";", nodes);
            }
        }
    }
}
