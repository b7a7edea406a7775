import tyrion.jmh.TyrionProfiler;

/**
 * The name by which JMH finds the profiler: {@code -prof tyrion:mode=trace}. JMH knows others'
 * profilers by the names of their classes alone.
 */
public final class tyrion extends TyrionProfiler {
    /** With default options. */
    public tyrion() {
        this("");
    }

    /**
     * With options.
     *
     * @param options what follows the colon
     */
    public tyrion(String options) {
        super(options);
    }
}
