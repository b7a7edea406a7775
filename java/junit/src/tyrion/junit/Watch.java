package tyrion.junit;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import tyrion.agent.NotLoadedException;
import tyrion.agent.Tyrion;
import tyrion.agent.reading.Command;
import tyrion.agent.reading.Json;

/** Watches a test, and judges what it has done. */
final class Watch {
    private static final Set<Watch> ALL = new HashSet<>();
    private static final AtomicLong NUMBER = new AtomicLong();

    /** Why nothing can be recorded, once that is known; the empty text if it can. */
    private static String missing;

    private final Settings settings;
    private final String test;
    private final List<Limit> limits;
    private final String group;
    private final Family family;
    private final long since;

    /** Whether another test ran at the same time, for all that is known. */
    private boolean isBesideOthers;

    private Watch(Settings settings, String test, List<Limit> limits) {
        this.settings = settings;
        this.test = test;
        this.limits = limits;
        // Another test, or another run of this one, has another.
        group = test + " #" + NUMBER.incrementAndGet();
        since = Family.mark0();
        family = Family.begin(group);
    }

    /** A test begins, on this thread; null if it promises nothing. */
    static Watch begin(Settings settings, String test, List<Limit> limits) throws MissingException {
        if (limits.isEmpty()) {
            return null;
        }
        load(settings);
        Watch watch;
        try {
            watch = new Watch(settings, test, limits);
        } catch (UnsatisfiedLinkError e) {
            throw new MissingException("the agent in this JVM is of another version");
        }
        synchronized (ALL) {
            ALL.add(watch);
            watch.isBesideOthers = settings.isParallel();
            if (ALL.size() > 1) {
                ALL.forEach(each -> each.isBesideOthers = true);
            }
        }
        return watch;
    }

    /** An agent that runs already keeps its log. All is traced: only so rings are seen. */
    private static synchronized void load(Settings settings) throws MissingException {
        if (missing == null) {
            try {
                new Command(settings.command(), "tyrion.command=PATH").check();
                boolean isPresent = tyrion.api.Tyrion.present();
                Tyrion.loadOrFail("mode=trace" + (isPresent ? "" : "," + settings.options()));
                missing = "";
            } catch (NotLoadedException | IOException | LinkageError e) {
                missing = e.getMessage();
            }
        }
        if (!missing.isEmpty()) {
            throw new MissingException(missing);
        }
    }

    /** The test has ended, on the same thread: what it promised and did not keep, or null. */
    String end() throws MissingException {
        family.close();
        long until = Family.mark0();
        synchronized (ALL) {
            ALL.remove(this);
        }
        List<String> lines = new ArrayList<>();
        try {
            String log = log();
            for (Limit limit : limits) {
                List<String> broken = broken(limit, log, until);
                if (!broken.isEmpty()) {
                    lines.add(test + " " + limit + ":");
                    broken.forEach(line -> lines.add("  " + line));
                }
            }
            if (!lines.isEmpty()) {
                lines.add("The log is " + log);
            }
        } catch (IOException | NotLoadedException e) {
            throw new MissingException(e.getMessage());
        }
        return lines.isEmpty() ? null : String.join(System.lineSeparator(), lines);
    }

    private static String log() throws IOException, NotLoadedException {
        for (String line : Tyrion.loadOrFail("command=status").split("\n")) {
            if (line.startsWith("log=")) {
                return line.substring("log=".length());
            }
        }
        throw new IOException("the agent does not say where its log is");
    }

    private List<String> broken(Limit limit, String log, long until) throws IOException {
        Command command = new Command(settings.command(), "tyrion.command=PATH");
        List<String> options = new ArrayList<>(limit.options());
        if (limit.of() == Limit.Of.ORDER) {
            options.addAll(Arrays.asList("--section=lock-order", ofGroup()));
            List<?> rings = Json.list(command.report(log, options), "lock-order", "cycles");
            return Text.ofRings(rings);
        }
        options.addAll(Arrays.asList("--section=verdict,blockers", "--top=3"));
        options.addAll(Arrays.asList("--since=" + moment(since), "--until=" + moment(until)));
        if (isBesideOthers) {
            options.add(ofGroup());
        }
        Object sections = command.report(log, options);
        double wait = Json.number(sections, "verdict", "wait_ns");
        double contended = Json.number(sections, "verdict", "contended");
        boolean isBroken = limit.of() == Limit.Of.WAIT ? wait > limit.nanos() : contended > 0;
        return isBroken ? Text.ofWaits(sections) : new ArrayList<>();
    }

    private String ofGroup() {
        // As the command reads it: Java's own quotation is not known there.
        return "--group=^" + group.replaceAll("[^A-Za-z0-9 ]", "\\\\$0") + "$";
    }

    private static String moment(long wallNanos) {
        return java.time.Instant.ofEpochSecond(
                        Math.floorDiv(wallNanos, 1_000_000_000L),
                        Math.floorMod(wallNanos, 1_000_000_000L))
                .toString();
    }
}
