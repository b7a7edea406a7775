package tyrion.spring;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import tyrion.agent.NotLoadedException;
import tyrion.agent.reading.Command;
import tyrion.agent.reading.Json;
import tyrion.agent.reading.Status;
import tyrion.api.Tyrion;

/** The agent of this JVM, and what its log tells. */
final class Recorder implements AutoCloseable {
    /** Longer recordings are not for a switch. */
    static final int MOST_SECONDS = 3600;

    /** Whoever asks more often gets the same answer: each reads a log, for half the time at most. */
    private static final long FRESH_NANOS = 1_000_000_000L;

    private final TyrionProperties properties;
    private final ScheduledThreadPoolExecutor timer;

    private Instant since;
    private Instant until;

    /** Ends the recording that the switch has begun, while that lasts. */
    private ScheduledFuture<?> end;

    /** The agent recorded before that, and goes on. */
    private boolean isOthers;

    /** Grows with each start and end: what was told before that is out of date. */
    private long changes;

    /** Whoever has it may read a log, which takes time: nobody waits for it who starts or ends. */
    private final Object turn = new Object();

    private Map<String, Object> told;
    private long toldOf;
    private long toldAt;
    private long freshNanos = FRESH_NANOS;

    Recorder(TyrionProperties properties) {
        this.properties = properties;
        timer = timer("tyrion-recording");
        timer.setRemoveOnCancelPolicy(true);
    }

    /** A thread of ours, which keeps no application from its end. */
    static ScheduledThreadPoolExecutor timer(String name) {
        return new ScheduledThreadPoolExecutor(
                1,
                task -> {
                    Thread thread = new Thread(task, name);
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /** The log that is written, or was last; the empty text without an agent. */
    static String log() throws NotLoadedException {
        return Tyrion.present() ? Status.after("command=status").get("log") : "";
    }

    /** A section of the report, of the whole log, or of the recording of the switch. */
    Object section(String name, String log, Instant from, Instant to) throws IOException {
        List<String> options = new ArrayList<>(Arrays.asList("--section=" + name, "--top=1000"));
        if (from != null) {
            options.add("--since=" + from);
        }
        if (to != null) {
            options.add("--until=" + to);
        }
        Command command = new Command(properties.getCommand(), "tyrion.command=PATH");
        return Json.at(command.report(log, options), name);
    }

    /** What the agent does, and the verdict. */
    Map<String, Object> tell() {
        synchronized (turn) {
            long begin = System.nanoTime();
            long now;
            Instant from;
            Instant to;
            synchronized (this) {
                now = changes;
                from = since;
                to = until;
            }
            if (told == null || toldOf != now || begin - toldAt > freshNanos) {
                told = tellAnew(from, to);
                toldOf = now;
                toldAt = System.nanoTime();
                freshNanos = Math.max(FRESH_NANOS, toldAt - begin);
            }
            return told;
        }
    }

    private Map<String, Object> tellAnew(Instant from, Instant to) {
        Map<String, Object> all = new LinkedHashMap<>();
        try {
            if (!Tyrion.present()) {
                all.put("state", "no agent");
                return all;
            }
            Status status = Status.after("command=status");
            for (String key : Arrays.asList("state", "reason", "mode", "log")) {
                if (!status.get(key).isEmpty()) {
                    all.put(key, status.get(key));
                }
            }
            if (from != null) {
                all.put("since", from.toString());
            }
            if (to != null) {
                all.put("until", to.toString());
            }
            all.put("verdict", whole(section("verdict", status.get("log"), from, to)));
        } catch (NotLoadedException | IOException | LinkageError e) {
            all.put("problem", e.getMessage());
        }
        return all;
    }

    /** Numbers without a fraction as such. */
    private static Object whole(Object value) {
        if (value instanceof Map) {
            Map<Object, Object> map = new LinkedHashMap<>();
            ((Map<?, ?>) value).forEach((key, each) -> map.put(key, whole(each)));
            return map;
        }
        if (value instanceof List) {
            List<Object> list = new ArrayList<>();
            ((List<?>) value).forEach(each -> list.add(whole(each)));
            return list;
        }
        boolean isWhole = value instanceof Double && (Double) value % 1 == 0;
        return isWhole ? (Object) ((Double) value).longValue() : value;
    }

    /** Records for so long. */
    synchronized Map<String, Object> start(int seconds) {
        if (end != null) {
            return problem("a recording is under way");
        }
        try {
            isOthers = Tyrion.enabled();
            if (!isOthers) {
                // A log that is there goes on.
                Status.after(Tyrion.present() ? "command=start" : properties.getOptions());
            }
        } catch (NotLoadedException | LinkageError e) {
            return problem(e.getMessage());
        }
        since = Instant.now();
        until = null;
        long of = ++changes;
        end = timer.schedule(() -> end(of), seconds, TimeUnit.SECONDS);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("since", since.toString());
        answer.put("until", since.plusSeconds(seconds).toString());
        return answer;
    }

    /** Ends the recording that the switch has begun. */
    Map<String, Object> stop() {
        String problem;
        synchronized (this) {
            if (end == null) {
                return problem("no recording is under way");
            }
            problem = end();
        }
        return problem == null ? tell() : problem(problem);
    }

    /** Its time is over, unless it has ended before, and another one has begun. */
    private synchronized void end(long of) {
        if (end != null && changes == of) {
            end();
        }
    }

    /** What went wrong, or null. */
    private String end() {
        changes++;
        end.cancel(false);
        end = null;
        until = Instant.now();
        try {
            if (!isOthers) {
                Status.after("command=stop");
            }
            return null;
        } catch (NotLoadedException | LinkageError e) {
            return e.getMessage();
        }
    }

    private static Map<String, Object> problem(String what) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("problem", what);
        return answer;
    }

    @Override
    public synchronized void close() {
        if (end != null) {
            end();
        }
        timer.shutdownNow();
    }
}
