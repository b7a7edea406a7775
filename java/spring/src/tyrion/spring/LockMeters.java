package tyrion.spring;

import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
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
    private Thread reader;
    private boolean isProblemTold;

    LockMeters(Recorder recorder, TyrionProperties properties) {
        this.recorder = recorder;
        this.properties = properties;
    }

    /** What a meter shows: it never goes back, also where a new log begins. */
    private static final class Sum {
        private double lastWaits;
        private double lastNanos;
        private volatile double waits;
        private volatile double nanos;

        void is(double newWaits, double newNanos) {
            waits += newWaits >= lastWaits ? newWaits - lastWaits : newWaits;
            nanos += newNanos >= lastNanos ? newNanos - lastNanos : newNanos;
            lastWaits = newWaits;
            lastNanos = newNanos;
        }
    }

    @Override
    public synchronized void bindTo(MeterRegistry registry) {
        registries.add(registry);
        sums.forEach((lock, sum) -> register(registry, lock, sum));
        if (reader == null) {
            reader = new Thread(this::readNowAndThen, "tyrion-meters");
            reader.setDaemon(true);
            reader.start();
        }
    }

    private static void register(MeterRegistry registry, String lock, Sum sum) {
        FunctionTimer.builder(
                        NAME,
                        sum,
                        it -> (long) it.waits,
                        it -> it.nanos,
                        TimeUnit.NANOSECONDS)
                .tag("lock", lock)
                .description("Waits for locks that other threads have")
                .register(registry);
    }

    private void readNowAndThen() {
        try {
            while (true) {
                Thread.sleep(Math.max(properties.getInterval().toMillis(), 1));
                try {
                    String log = Recorder.log();
                    if (!log.isEmpty()) {
                        take(recorder.section("contended", log, null, null));
                    }
                } catch (IOException | NotLoadedException | LinkageError e) {
                    tellOnce(e.getMessage());
                }
            }
        } catch (InterruptedException e) {
            // The application ends.
        }
    }

    private void tellOnce(String problem) {
        if (!isProblemTold) {
            isProblemTold = true;
            System.err.println("tyrion: no meters of locks: " + problem);
        }
    }

    private synchronized void take(Object contended) {
        Map<String, double[]> locks = new LinkedHashMap<>();
        double[] other = {Json.number(contended, "contended"), Json.number(contended, "wait_ns")};
        // The worst come first.
        for (Object row : Json.list(contended, "locks")) {
            double[] now = locks.computeIfAbsent(name(row), name -> new double[2]);
            now[0] += Json.number(row, "contended");
            now[1] += Json.number(row, "wait_ns");
        }
        locks.forEach(
                (lock, now) -> {
                    Sum sum = sums.get(lock);
                    if (sum == null && own() < properties.getMaxLocks()) {
                        sum = add(lock);
                    }
                    if (sum != null) {
                        sum.is(now[0], now[1]);
                        other[0] -= now[0];
                        other[1] -= now[1];
                    }
                });
        if (other[0] > 0) {
            Sum sum = sums.get(OTHER);
            (sum == null ? add(OTHER) : sum).is(other[0], other[1]);
        }
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
            reader.interrupt();
        }
    }
}
