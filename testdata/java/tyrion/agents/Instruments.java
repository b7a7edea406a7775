package tyrion.agents;

import java.lang.instrument.Instrumentation;

/** An agent by which a program changes its own classes. */
public final class Instruments {
    private static volatile Instrumentation jvm;

    private Instruments() {}

    /** Given on the command line. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        jvm = instrumentation;
    }

    /** What the JVM has given the agent. */
    public static Instrumentation jvm() {
        return jvm;
    }
}
