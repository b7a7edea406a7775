package tyrion.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.Set;

/** A way by which this JVM loads a native agent into itself. */
abstract class Door {
    /** The module jdk.management has the JVM's own commands in it. */
    private static final String INTERNAL = "com.sun.management.internal";

    /** What HotSpot says where -XX:-EnableDynamicAgentLoading forbids it. */
    private static final String FORBIDDEN = "Dynamic agent loading is not enabled";

    static Door of(Instrumentation instrumentation) {
        if (isOld()) {
            return new AttachDoor();
        }
        return instrumentation == null ? new BeanDoor() : new CommandDoor(instrumentation);
    }

    /** Java 8, which has no command that loads an agent. */
    static boolean isOld() {
        return System.getProperty("java.specification.version", "").startsWith("1.");
    }

    /**
     * Loads it.
     *
     * @return whether other class loaders can have the same file loaded
     * @throws IOException if another file may do
     */
    abstract boolean load(Path library, String options) throws NotLoadedException, IOException;

    /** Why the JVM has no such command: programs of modules alone get those that they name. */
    static NotLoadedException lacking() {
        return new NotLoadedException(
                "the module jdk.management is missing; give --add-modules jdk.management, or"
                        + " use -agentpath");
    }

    private static boolean hasManagement() {
        try {
            Class.forName("com.sun.management.OperatingSystemMXBean", false, null);
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** Takes what the JVM's command has said. */
    static void check(String said, Path library) throws NotLoadedException, IOException {
        String line = said.trim().replace('\n', ' ');
        if (line.equals("return code: 0")) {
            return;
        }
        if (line.startsWith(FORBIDDEN)) {
            throw new NotLoadedException(
                    "this JVM does not allow it (-XX:-EnableDynamicAgentLoading)");
        }
        throw new IOException("the JVM cannot load " + library + ": " + line);
    }

    /** The arguments of the command: a quotation mark ends at the next of its kind. */
    static String quoted(String value) throws NotLoadedException {
        char mark = value.indexOf('"') < 0 ? '"' : '\'';
        if (value.indexOf(mark) >= 0) {
            throw new NotLoadedException("the options have both kinds of quotation marks");
        }
        return mark + value + mark;
    }

    /**
     * The JVM's command, by the bean that offers it to all: that starts the bean server. From
     * Java 17 on the bean lacks it where the module jdk.jfr is missing: HotSpot's list of commands
     * ends early.
     */
    private static final class BeanDoor extends Door {
        @Override
        boolean load(Path library, String options) throws NotLoadedException, IOException {
            String said;
            try {
                said = Bean.load(quoted(library.toString()), quoted(options));
            } catch (LinkageError e) {
                throw lacking();
            }
            if (said == null && hasManagement()) {
                return new AttachDoor().load(library, options);
            }
            if (said == null) {
                throw lacking();
            }
            check(said, library);
            return true;
        }
    }

    /**
     * The same command without the bean server. To start that before the program begins would also
     * start java.util.logging, which some programs replace first.
     */
    private static final class CommandDoor extends Door {
        private final Instrumentation instrumentation;

        CommandDoor(Instrumentation instrumentation) {
            this.instrumentation = instrumentation;
        }

        @Override
        boolean load(Path library, String options) throws NotLoadedException, IOException {
            String command = "JVMTI.agent_load " + quoted(library.toString()) + " " + quoted(options);
            Object commands;
            Method execute;
            try {
                Class<?> type = Class.forName(INTERNAL + ".DiagnosticCommandImpl");
                open(type);
                // It loads the native part.
                Class.forName(INTERNAL + ".PlatformMBeanProviderImpl");
                Method get = type.getDeclaredMethod("getDiagnosticCommandMBean");
                get.setAccessible(true);
                commands = get.invoke(null);
                execute = type.getDeclaredMethod("executeDiagnosticCommand", String.class);
                execute.setAccessible(true);
            } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
                // A JVM that has it otherwise may have the bean.
                return new BeanDoor().load(library, options);
            }
            try {
                check((String) execute.invoke(commands, command), library);
                return true;
            } catch (InvocationTargetException e) {
                throw new NotLoadedException("the JVM refuses: " + e.getCause());
            } catch (IllegalAccessException e) {
                throw new NotLoadedException("the JVM refuses: " + e);
            }
        }

        /** Opens the package to this class. By reflection: Java 8 has no modules. */
        private void open(Class<?> type) throws ReflectiveOperationException {
            Method moduleOf = Class.class.getMethod("getModule");
            Object ours = moduleOf.invoke(Door.class);
            Class<?> module = moduleOf.getReturnType();
            Method redefine =
                    Instrumentation.class.getMethod(
                            "redefineModule", module, Set.class, Map.class, Map.class, Set.class,
                            Map.class);
            redefine.invoke(
                    instrumentation,
                    moduleOf.invoke(type),
                    Collections.emptySet(),
                    Collections.emptyMap(),
                    Collections.singletonMap(INTERNAL, Collections.singleton(ours)),
                    Collections.emptySet(),
                    Collections.emptyMap());
        }
    }
}
