package tyrion.api;

/**
 * Tells Tyrion's agent what the program is doing, and switches it.
 *
 * <p>All methods may be called at any time, whether there is an agent or not, and none of them
 * throws anything. An agent that is attached later is noticed.
 *
 * <pre>{@code
 * try (Tyrion.Group group = Tyrion.group("GET /orders")) {
 *     ... // waits and samples of this thread stand below "GET /orders"
 * }
 * }</pre>
 */
public final class Tyrion {
    /**
     * Whether there is an agent. The agent sets it in classes that were initialized before it came.
     * There must be no other value at first than the one that the JVM gives it: assigning false
     * here might come after that.
     */
    private static volatile boolean agent;

    static {
        try {
            if (state0() != 0) {
                agent = true;
            }
        } catch (UnsatisfiedLinkError e) {
            // No agent so far.
        }
    }

    private Tyrion() {}

    /**
     * Says what the current thread is doing, until the result is closed. Within a group there may be
     * others; closing one leads back to the one around it.
     *
     * <p>Names stand in the log once each: some thousands of them are well, one for each order
     * number is not. {@code null} and the empty name are no group.
     *
     * @param name what the thread is doing, such as {@code "GET /orders"}
     * @return to be closed when that is done, best by try-with-resources
     */
    public static Group group(String name) {
        return agent ? Group.enter(name) : Group.NONE;
    }

    /**
     * Has what the current thread does be sampled, ten times a second, until the result is closed.
     *
     * @return to be closed at the end, best by try-with-resources
     */
    public static Sampling sampling() {
        return sampling(null, Sampling.DEFAULT_MILLIS);
    }

    /**
     * Has what the current thread does be sampled, ten times a second, as a {@link #group(String)}.
     *
     * @param name what the thread is doing, or {@code null} for no group
     * @return to be closed at the end, best by try-with-resources
     */
    public static Sampling sampling(String name) {
        return sampling(name, Sampling.DEFAULT_MILLIS);
    }

    /**
     * Has what the current thread does be sampled, as a {@link #group(String)}. Where the agent
     * samples all threads more often than that already, nothing is added but the group.
     *
     * @param name what the thread is doing, or {@code null} for no group
     * @param periodMillis the mean time between two samples, in milliseconds, at least 1
     * @return to be closed at the end, best by try-with-resources
     */
    public static Sampling sampling(String name, long periodMillis) {
        return agent ? Sampling.begin(name, periodMillis) : Sampling.NONE;
    }

    /**
     * Has the agent record, or pause: as {@code tyrion attach} and {@code tyrion stop} do.
     *
     * @param on whether to record
     */
    public static void enabled(boolean on) {
        if (agent) {
            enable0(on);
        }
    }

    /**
     * Whether there is an agent that records.
     *
     * @return false without an agent, and while it pauses
     */
    public static boolean enabled() {
        return agent && state0() == RECORDING;
    }

    /**
     * Whether there is an agent in this JVM, which records or pauses.
     *
     * @return false without an agent
     */
    public static boolean present() {
        return agent && state0() != 0;
    }

    /**
     * Makes a {@link TyrionMXBean} known to the platform's MBean server, as {@code
     * tyrion.api:type=Tyrion}, unless it is.
     *
     * @return whether it is known now; false where there is no management
     */
    public static boolean registerMXBean() {
        try {
            return Bean.register();
        } catch (LinkageError | RuntimeException e) {
            // A JVM without the module java.management, or one that does not allow it.
            return false;
        }
    }

    /** A group that the current thread is in, see {@link Tyrion#group(String)}. */
    public static final class Group implements AutoCloseable {
        static final Group NONE = new Group(0);

        /** What the agent knows it by; 0 when there is nothing to leave. */
        private long token;

        private Group(long token) {
            this.token = token;
        }

        static Group enter(String name) {
            long token = name == null ? 0 : group0(Thread.currentThread(), name);
            return token == 0 ? NONE : new Group(token);
        }

        /**
         * The thread leaves the group. May be called on any thread and more than once: groups are
         * left in any order.
         */
        @Override
        public void close() {
            if (this != NONE && token != 0) {
                restore0(token);
                token = 0;
            }
        }
    }

    /** A block of code that is sampled, see {@link Tyrion#sampling(String, long)}. */
    public static final class Sampling implements AutoCloseable {
        static final long DEFAULT_MILLIS = 100;
        static final Sampling NONE = new Sampling(Group.NONE, 0);

        private final Group group;

        /** What the agent knows it by; 0 when there is nothing to end. */
        private long token;

        private Sampling(Group group, long token) {
            this.group = group;
            this.token = token;
        }

        static Sampling begin(String name, long periodMillis) {
            Group group = Group.enter(name);
            long token = sampling0(Thread.currentThread(), periodMillis);
            return token == 0 && group == Group.NONE ? NONE : new Sampling(group, token);
        }

        /** The block has ended. May be called on any thread and more than once. */
        @Override
        public void close() {
            if (this != NONE) {
                if (token != 0) {
                    sampled0(token);
                    token = 0;
                }
                group.close();
            }
        }
    }

    // What the agent has, see agent/src/api.rs. None throws once it is linked.

    static final int RECORDING = 1;

    /** 0 for no agent, 1 when it records, 2 when it pauses. */
    static native int state0();

    static native void enable0(boolean on);

    /** A token for {@link #restore0}, or 0. */
    static native long group0(Thread current, String name);

    static native void restore0(long token);

    /** A token for {@link #sampled0}, or 0. */
    static native long sampling0(Thread current, long periodMillis);

    static native void sampled0(long token);

    static final int MODE = 0;
    static final int LOG = 1;

    static native String text0(int what);

    static final int THRESHOLD = 0;
    static final int CONTENTIONS = 1;
    static final int WAIT_NANOS = 2;
    static final int SAMPLES = 3;
    static final int DROPPED = 4;

    static native long number0(int what);

    static native void threshold0(long nanos);

    /** A text about the recording, "" without an agent. */
    static String text(int what) {
        String text = agent ? text0(what) : null;
        return text == null ? "" : text;
    }

    /** A number about the recording, 0 without an agent. */
    static long number(int what) {
        return agent ? number0(what) : 0;
    }

    /** Changes the threshold, if there is an agent. */
    static void threshold(long nanos) {
        if (agent) {
            threshold0(nanos);
        }
    }
}
