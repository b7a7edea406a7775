package tyrion.agent;

import java.lang.instrument.Instrumentation;

/**
 * Loads Tyrion's agent into this JVM.
 *
 * <p>The agent is native. The one that fits is taken out of this jar, into a folder that nobody
 * else may enter, and is removed when the JVM ends.
 *
 * <pre>{@code
 * Tyrion.load("file=app-%p.log,threshold=50us");
 * }</pre>
 */
public final class Tyrion {
    private Tyrion() {}

    /**
     * Loads the agent, and has it record. Where it is loaded already, by whomever, that one goes on
     * with those of the options that can still change. Once this returns, the agent records.
     *
     * <p>Where that is not possible, one line on stderr says why, and the program goes on.
     *
     * @param options as for {@code -agentpath}, such as {@code "file=app-%p.log"}; may be empty
     * @return whether it has been loaded, and followed the options
     */
    public static boolean load(String options) {
        return load(options, null);
    }

    /**
     * As {@link #load(String)}, but says by an exception why that is not possible.
     *
     * @param options as for {@code -agentpath}; may be empty
     * @return what the agent says of itself: {@code log}, {@code mode} and others, each with its
     *     value in a line {@code key=value}
     * @throws NotLoadedException if it has not been loaded, or does not follow the options
     */
    public static String loadOrFail(String options) throws NotLoadedException {
        return Loader.load(options, null);
    }

    /**
     * The JVM starts with {@code -javaagent} and this jar.
     *
     * @param options what follows the jar's name
     * @param instrumentation opens what loads agents to this class
     */
    public static void premain(String options, Instrumentation instrumentation) {
        load(options, instrumentation);
    }

    /**
     * Somebody has loaded this jar into a JVM that runs. On Java 8 the agent records shortly after
     * this has returned.
     *
     * @param options what they have given
     * @param instrumentation opens what loads agents to this class
     */
    public static void agentmain(String options, Instrumentation instrumentation) {
        if (!Door.isOld()) {
            load(options, instrumentation);
            return;
        }
        // This very thread is the one that Java 8 would load it by.
        Thread thread = new Thread(() -> load(options, instrumentation), "tyrion-load");
        thread.setDaemon(true);
        thread.start();
    }

    private static boolean load(String options, Instrumentation instrumentation) {
        try {
            Loader.load(options, instrumentation);
            return true;
        } catch (NotLoadedException e) {
            Loader.say(e.getMessage());
        } catch (Throwable e) {
            // There is no memory, or the JVM is made otherwise than those that are known; the
            // program must not end.
            sayIfPossible(e);
        }
        return false;
    }

    private static void sayIfPossible(Throwable e) {
        try {
            Loader.say("cannot be loaded: " + e);
        } catch (Throwable another) {
            // There is no memory for that either.
        }
    }
}
