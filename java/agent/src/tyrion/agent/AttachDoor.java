package tyrion.agent;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * The library, loaded as any native one, asks the JVM over its own socket to load it as an agent,
 * as {@code tyrion attach} does from outside. Java 8 without a JDK has nothing else, nor has a
 * later JVM that lacks the module jdk.jfr.
 */
final class AttachDoor extends Door {
    /** HotSpot cuts longer arguments. */
    private static final int LONGEST_ARGUMENT = 1024;

    @Override
    boolean load(Path library, String options) throws NotLoadedException, IOException {
        // It asks by SIGQUIT, which would end the JVM, or print all threads.
        if (isOn("ReduceSignalUsage") || isOn("DisableAttachMechanism")) {
            throw new NotLoadedException(
                    "this JVM does not allow it (-XX:+DisableAttachMechanism or -Xrs)");
        }
        byte[] path = library.toString().getBytes(StandardCharsets.UTF_8);
        byte[] texts = options.getBytes(StandardCharsets.UTF_8);
        if (Math.max(path.length, texts.length) > LONGEST_ARGUMENT) {
            throw new NotLoadedException("the options are too long for this JVM; use -agentpath");
        }
        try {
            System.load(library.toString());
        } catch (UnsatisfiedLinkError e) {
            throw new IOException("the JVM cannot load it: " + e.getMessage());
        }
        String failure = attach0(path, texts);
        if (failure != null) {
            throw new NotLoadedException(failure);
        }
        // HotSpot has a library's native methods belong to one class loader.
        return false;
    }

    private static boolean isOn(String option) throws NotLoadedException {
        try {
            HotSpotDiagnosticMXBean bean =
                    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            return Boolean.parseBoolean(bean.getVMOption(option).getValue());
        } catch (LinkageError | RuntimeException e) {
            throw new NotLoadedException("this JVM loads no agents by itself; use -agentpath");
        }
    }

    /** What went wrong, or null: see agent/src/agent/itself.rs. */
    private static native String attach0(byte[] library, byte[] options);
}
