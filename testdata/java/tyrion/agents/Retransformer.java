package tyrion.agents;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * An agent that gives classes other bytes, as coverage tools and tracers do: the JDK's lock classes
 * and those that are named after {@code =}, with commas. Their source files get other names,
 * "LockSupport.jaVa", which stack traces then show. It asks for that as soon as it is loaded, and
 * says "retransformed". From then on the thread "pulse" parks for a moment, again and again.
 */
public final class Retransformer implements ClassFileTransformer {
    private static final Set<String> LOCKS = new HashSet<>(Arrays.asList(
            "java.util.concurrent.locks.LockSupport",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer",
            "java.util.concurrent.locks.AbstractQueuedLongSynchronizer",
            "java.util.concurrent.locks.StampedLock",
            "java.lang.Thread"));

    private final Set<Class<?>> classes = new HashSet<>();

    private Retransformer(String more) throws ClassNotFoundException {
        for (String name : LOCKS) {
            classes.add(Class.forName(name));
        }
        if (more != null && !more.isEmpty()) {
            for (String name : more.split(",")) {
                classes.add(Class.forName(name));
            }
        }
    }

    /** Given on the command line. */
    public static void premain(String arguments, Instrumentation jvm) throws Exception {
        agentmain(arguments, jvm);
    }

    /** Loaded later. */
    public static void agentmain(String arguments, Instrumentation jvm) throws Exception {
        Retransformer retransformer = new Retransformer(arguments);
        jvm.addTransformer(retransformer, true);
        jvm.retransformClasses(retransformer.classes.toArray(new Class<?>[0]));
        System.out.println("retransformed");
        System.out.flush();
        Thread pulse = new Thread(Retransformer::park, "pulse");
        pulse.setDaemon(true);
        pulse.start();
    }

    private static void park() {
        while (true) {
            LockSupport.parkNanos(5_000_000);
        }
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
        if (!classes.contains(type)) {
            return null;
        }
        byte[] file = (type.getSimpleName() + ".java").getBytes(StandardCharsets.US_ASCII);
        byte[] renamed = bytes.clone();
        for (int at = 0; at + file.length <= bytes.length; at++) {
            if (Arrays.equals(Arrays.copyOfRange(bytes, at, at + file.length), file)) {
                renamed[at + file.length - 2] = 'V';
            }
        }
        return renamed;
    }
}
