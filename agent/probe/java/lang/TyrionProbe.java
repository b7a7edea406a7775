package java.lang;

/**
 * What the probes of contention mode call: where threads of java.util.concurrent wait. The agent
 * defines this class beside Thread, before any probe is inserted; tests/setup/probe-class.sh
 * rebuilds its bytes, which the agent carries. The methods are the agent's own, see
 * agent/src/callbacks.rs; what each is told of says tyrion_plan::probe::wait.
 */
public final class TyrionProbe {
    private TyrionProbe() {}

    public static native void parkBegins(Thread thread);

    public static native void parkBeginsFor(long nanos, Thread thread);

    public static native void parkEnds(Thread thread);

    public static native void acquireBegins(boolean shared, Thread thread);

    public static native void acquired(Thread thread);

    public static native void acquireReturnedInt(int result, Thread thread);

    public static native void acquireReturnedBoolean(boolean result, Thread thread);

    public static native void acquireReturnedStamp(long stamp, Thread thread);

    public static native void acquireThrew(Throwable exception, Thread thread);

    public static native void signalled(Object node, Thread signaller);

    public static native void unparks(Thread target, Thread waker);

    public static native void renamed(Thread thread);

    /**
     * Called by the agent in place of probes, where adding them would throw compiled code away. The
     * JVM warns of native methods of the JDK that are replaced unless a class of the JDK's own does
     * it, and looks at who calls the native method that does.
     */
    static void replaceNatives() {
        replaceNativesNow();
    }

    private static native void replaceNativesNow();
}
