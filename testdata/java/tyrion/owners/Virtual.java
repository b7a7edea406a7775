package tyrion.owners;

import java.lang.reflect.Method;

/** Threads of either kind, by reflection where the JDK that compiles has no virtual ones. */
final class Virtual {
    private Virtual() {}

    /** A thread that is not started. */
    static Thread thread(String name, Runnable body, boolean isVirtual) throws Exception {
        if (!isVirtual) {
            return new Thread(body, name);
        }
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        Method named = type.getMethod("name", String.class);
        return (Thread) type.getMethod("unstarted", Runnable.class)
                .invoke(named.invoke(builder, name), body);
    }
}
