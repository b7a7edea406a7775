package tyrion.spring;

import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import tyrion.agent.NotLoadedException;
import tyrion.agent.reading.Json;

/**
 * {@code tyrion.lock.wait}: how often and how long threads have waited, by lock. The log is read
 * now and then, by a thread of its own, however often the meters are.
 */
final class LockMeters implements MeterBinder, AutoCloseable {
    /** Locks that have no meter of their own. */
    private static final String OTHER = "other";

    private static final String NAME = "tyrion.lock.wait";

    private final Recorder recorder;
    private final TyrionProperties properties;
    private final List<MeterRegistry> registries = new CopyOnWriteArrayList<>();
    private final Map<String, Sum> sums = new LinkedHashMap<>();
    private final Sum all = new Sum();
    private ScheduledThreadPoolExecutor reader;
    private boolean isProblemTold;

    LockMeters(Recorder recorder, TyrionProperties properties) {
        this.recorder = recorder;
        this.properties = properties;
    }

    /** What a meter shows: it never goes back, also where a new log begins. */
    private static final class Sum {
        private Waits last = new Waits(0, 0);
        private volatile Waits shown = last;

        /** What there is more of than before. */
        Waits more(Waits now, boolean isNewLog) {
            return isNewLog ? now : now.without(last);
        }

        void add(Waits more, Waits now) {
            shown = new Waits(shown.count + more.count, shown.nanos + more.nanos);
            last = now;
        }
    }

    /** A number of waits, and how long they took. */
    private static final class Waits {
        private final double count;
        private final double nanos;

        Waits(double count, double nanos) {
            this.count = count;
            this.nanos = nanos;
        }

        static Waits of(Object value) {
            return new Waits(Json.number(value, "contended"), Json.number(value, "wait_ns"));
        }

        Waits and(Waits more) {
            return new Waits(count + more.count, nanos + more.nanos);
        }

        Waits without(Waits less) {
            return new Waits(Math.max(count - less.count, 0), Math.max(nanos - less.nanos, 0));
        }

        Waits atMost(Waits most) {
            return new Waits(Math.min(count, most.count), Math.min(nanos, most.nanos));
        }
    }

    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        registries.add(registry);
        sums.forEach((lock, sum) -> register(registry, lock, sum));
        if (reader == null) {
            long millis = millis(properties.getInterval());
            reader = Recorder.timer("tyrion-meters");
            reader.scheduleWithFixedDelay(this::read, millis, millis, TimeUnit.MILLISECONDS);
        }
    }

    /** What an application sets may be nothing, or more than a number has room for. */
    private static long millis(Duration interval) {
        Duration most = Duration.ofDays(1);
        return interval == null || interval.compareTo(most) > 0
                ? most.toMillis()
                : Math.max(interval.toMillis(), 1);
    }

    private static void register(MeterRegistry registry, String lock, Sum sum) {
        FunctionTimer.builder(
                        NAME,
                        sum,
                        it -> (long) it.shown.count,
                        it -> it.shown.nanos,
                        TimeUnit.NANOSECONDS)
                .tag("lock", lock)
                .description("Waits for locks that other threads have")
                .register(registry);
    }

    private void read() {
        try {
            String log = Recorder.log();
            if (!log.isEmpty()) {
                take(recorder.section("contended", log, null, null));
            }
        } catch (IOException | NotLoadedException | LinkageError | RuntimeException e) {
            tellOnce(e.getMessage());
        }
    }

    private void tellOnce(String problem) {
        if (!isProblemTold) {
            isProblemTold = true;
            System.err.println("tyrion: no meters of locks: " + problem);
        }
    }

    /**
     * All meters together have what all waits are. A lock whose name becomes another, as when the
     * log tells more of its places, is a new one from then on.
     */
    private synchronized void take(Object contended) {
        Waits now = Waits.of(Json.at(contended, "totals"));
        boolean isNewLog = now.count < all.last.count;
        Waits left = all.more(now, isNewLog);
        all.add(left, now);
        Map<String, Waits> locks = new LinkedHashMap<>();
        // The worst come first.
        for (Object row : Json.list(contended, "locks")) {
            locks.merge(name(row), Waits.of(row), Waits::and);
        }
        for (Map.Entry<String, Waits> lock : locks.entrySet()) {
            Sum sum = sums.get(lock.getKey());
            if (sum != null) {
                left = give(sum, lock.getValue(), isNewLog, left);
            }
        }
        for (Map.Entry<String, Waits> lock : locks.entrySet()) {
            if (!sums.containsKey(lock.getKey()) && own() < properties.getMaxLocks()) {
                left = give(add(lock.getKey()), lock.getValue(), isNewLog, left);
            }
        }
        if (left.count > 0 && !sums.containsKey(OTHER)) {
            add(OTHER);
        }
        if (left.count > 0) {
            sums.get(OTHER).add(left, left);
        }
    }

    /** Adds to a meter what its lock has more of, of what is left. */
    private static Waits give(Sum sum, Waits now, boolean isNewLog, Waits left) {
        Waits more = sum.more(now, isNewLog).atMost(left);
        sum.add(more, now);
        return left.without(more);
    }

    private int own() {
        return sums.size() - (sums.containsKey(OTHER) ? 1 : 0);
    }

    private Sum add(String lock) {
        Sum sum = new Sum();
        sums.put(lock, sum);
        registries.forEach(registry -> register(registry, lock, sum));
        return sum;
    }

    /** In the program, or else of its class. */
    private static String name(Object row) {
        String name = Json.text(row, "lock", "name");
        return name.isEmpty() ? Json.text(row, "lock", "class") : name;
    }

    @Override
    public synchronized void close() {
        if (reader != null) {
            reader.shutdownNow();
        }
    }
}
