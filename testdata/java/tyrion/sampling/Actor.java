package tyrion.sampling;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tyrion.support.Json;

/**
 * A thread that does one thing after the other until it is told to stop, each in a method of its
 * own, and measures with its own clocks what went into each.
 *
 * <p>Threads are classes and not lambdas: the JVM shows some tools the frames of lambdas, and hides them
 * from others.
 */
abstract class Actor extends Thread {
    private final Map<String, Activity> activities = new LinkedHashMap<>();
    private long livedNanos;
    private long cpuNanos;

    Actor(String name) {
        super(name);
    }

    @Override
    public final void run() {
        long began = System.nanoTime();
        try {
            live();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        livedNanos = System.nanoTime() - began;
        cpuNanos = Cpu.nanos();
    }

    /** All that the thread does. */
    abstract void live() throws Exception;

    /** Begins something: give the result to {@link #end}. */
    final Activity begin(String method, String state) {
        Activity activity = activities.get(method);
        if (activity == null) {
            activity = new Activity(getClass(), method, state);
            activities.put(method, activity);
        }
        activity.beganCpuNanos = Cpu.nanos();
        activity.beganNanos = System.nanoTime();
        return activity;
    }

    static void end(Activity activity) {
        activity.nanos += System.nanoTime() - activity.beganNanos;
        activity.cpuNanos += Cpu.nanos() - activity.beganCpuNanos;
    }

    /** What was measured, once the thread has ended. */
    final Json measured() {
        List<Json> each = new ArrayList<>();
        for (Activity activity : activities.values()) {
            each.add(new Json()
                    .put("class", activity.owner.getName())
                    .put("method", activity.method)
                    .put("state", activity.state)
                    .put("wall_ns", activity.nanos)
                    .put("cpu_ns", activity.cpuNanos));
        }
        return new Json()
                .put("thread", getName())
                .put("lived_ns", livedNanos)
                .put("cpu_ns", cpuNanos)
                .put("activities", each);
    }

    /** One thing that a thread does again and again. */
    static final class Activity {
        private final Class<?> owner;
        private final String method;
        private final String state;
        private long beganNanos;
        private long beganCpuNanos;
        private long nanos;
        private long cpuNanos;

        Activity(Class<?> owner, String method, String state) {
            this.owner = owner;
            this.method = method;
            this.state = state;
        }
    }
}
