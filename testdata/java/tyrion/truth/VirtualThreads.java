package tyrion.truth;

import java.util.concurrent.ThreadFactory;

/** Virtual threads, by reflection: compiles on Java 11, and works from Java 21 on. */
final class VirtualThreads {
    private static final int UNSUPPORTED = 3;

    private VirtualThreads() {}

    /**
     * Prints "unsupported" and exits with 3 where there are no virtual threads. To be called before
     * the first use: unless told otherwise it asks for eight carriers, so that on a small machine
     * too several virtual threads can be inside the JVM at a time.
     */
    static void require() {
        String parallelism = "jdk.virtualThreadScheduler.parallelism";
        if (System.getProperty(parallelism) == null) {
            System.setProperty(parallelism, "8");
        }
        try {
            named("probe");
        } catch (UnsupportedOperationException e) {
            System.out.println("unsupported");
            System.exit(UNSUPPORTED);
        }
    }

    /** Makes virtual threads of one name. */
    static ThreadFactory named(String name) {
        return factory("name", new Class<?>[] {String.class}, name);
    }

    /** Makes virtual threads named by a prefix and a number, from 1 on. */
    static ThreadFactory numbered(String prefix) {
        return factory("name", new Class<?>[] {String.class, long.class}, prefix, 1L);
    }

    /** {@code Thread.ofVirtual().<setting>(…).factory()}. */
    private static ThreadFactory factory(String setting, Class<?>[] types, Object... values) {
        try {
            Class<?> builderType = Class.forName("java.lang.Thread$Builder");
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            builderType.getMethod(setting, types).invoke(builder, values);
            return (ThreadFactory) builderType.getMethod("factory").invoke(builder);
        } catch (ReflectiveOperationException e) {
            throw new UnsupportedOperationException("no virtual threads", e);
        }
    }
}
