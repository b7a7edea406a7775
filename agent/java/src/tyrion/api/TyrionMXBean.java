package tyrion.api;

/**
 * What Tyrion's agent does in this JVM, see {@link Tyrion#registerMXBean()}. Without an agent all
 * numbers are 0, all texts empty, and setting something does nothing.
 */
public interface TyrionMXBean {
    /**
     * Whether the agent records.
     *
     * @return false without an agent, and while it pauses
     */
    boolean isEnabled();

    /**
     * Has the agent record, or pause.
     *
     * @param enabled whether to record
     */
    void setEnabled(boolean enabled);

    /**
     * What the agent records.
     *
     * @return {@code contention}, {@code trace}, {@code sample}, {@code contention+sample} or {@code
     *     trace+sample}
     */
    String getMode();

    /**
     * Waits shorter than this are only counted.
     *
     * @return in nanoseconds
     */
    long getThreshold();

    /**
     * Changes the threshold.
     *
     * @param nanos in nanoseconds, 0 to record every wait
     */
    void setThreshold(long nanos);

    /**
     * How often threads have waited for locks since the recording began.
     *
     * @return waits that have ended, whether below the threshold or not
     */
    long getContentions();

    /**
     * How long threads have waited for locks since the recording began.
     *
     * @return the sum over all contentions, in nanoseconds
     */
    long getWaitNanos();

    /**
     * How many records of samples were written since the recording began.
     *
     * @return the number of records: equal samples of a thread, one after another, are one
     */
    long getSamples();

    /**
     * How many waits the log lacks, for want of room or memory.
     *
     * @return the number of waits
     */
    long getDropped();

    /**
     * The log that is written.
     *
     * @return its path
     */
    String getLog();
}
