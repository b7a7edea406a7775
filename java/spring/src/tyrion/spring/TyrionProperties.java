package tyrion.spring;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;

/** What the application sets: {@code tyrion.command} and so on. */
@ConfigurationProperties("tyrion")
public class TyrionProperties {
    private String command = "tyrion";
    private String options = "file=tyrion-%p.log";
    private boolean recording;
    private Duration interval = Duration.ofSeconds(30);
    private int maxLocks = 50;

    /** Made by Spring. */
    public TyrionProperties() {}

    /**
     * What reads logs.
     *
     * @return the path of the command {@code tyrion}, or its name if it is on the PATH
     */
    public String getCommand() {
        return command;
    }

    /**
     * Sets what reads logs.
     *
     * @param command its path or name
     */
    public void setCommand(String command) {
        this.command = command;
    }

    /**
     * Options of the agent, where the endpoint loads it.
     *
     * @return as for {@code -agentpath}
     */
    public String getOptions() {
        return options;
    }

    /**
     * Sets options of the agent.
     *
     * @param options as for {@code -agentpath}
     */
    public void setOptions(String options) {
        this.options = options;
    }

    /**
     * Whether the endpoint may start and stop recordings.
     *
     * @return false unless the application says so
     */
    public boolean isRecording() {
        return recording;
    }

    /**
     * Sets whether the endpoint may start and stop recordings.
     *
     * @param recording whether it may
     */
    public void setRecording(boolean recording) {
        this.recording = recording;
    }

    /**
     * How often the log is read for the meters, which reads all of it.
     *
     * @return the time between two readings
     */
    public Duration getInterval() {
        return interval;
    }

    /**
     * Sets how often the log is read for the meters.
     *
     * @param interval the time between two readings
     */
    public void setInterval(Duration interval) {
        this.interval = interval;
    }

    /**
     * How many locks have meters of their own; all others have one together.
     *
     * @return the number of locks
     */
    public int getMaxLocks() {
        return maxLocks;
    }

    /**
     * Sets how many locks have meters of their own.
     *
     * @param maxLocks the number of locks
     */
    public void setMaxLocks(int maxLocks) {
        this.maxLocks = maxLocks;
    }
}
