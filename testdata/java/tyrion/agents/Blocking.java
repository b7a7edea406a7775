package tyrion.agents;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Function;
import java.util.function.Predicate;
import tyrion.support.Json;

/**
 * Asks BlockHound, which must be on the class path, to refuse blocking calls of the thread
 * "non-blocking", and has this thread sleep. Its last line tells as {@code refused} the class of
 * what was thrown.
 */
public final class Blocking {
    private Blocking() {}

    public static void main(String[] args) throws Exception {
        Class<?> blockHound = Class.forName("reactor.blockhound.BlockHound");
        Class<?> integration = Class.forName("reactor.blockhound.integration.BlockHoundIntegration");
        Object ours = Proxy.newProxyInstance(
                integration.getClassLoader(),
                new Class<?>[] {integration},
                (proxy, method, arguments) -> answer(method, arguments));
        Object integrations = Array.newInstance(integration, 1);
        Array.set(integrations, 0, ours);
        blockHound.getMethod("install", integrations.getClass()).invoke(null, integrations);

        String[] refused = new String[1];
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(1);
            } catch (InterruptedException | Error e) {
                refused[0] = e.getClass().getName();
            }
        }, "non-blocking");
        thread.start();
        thread.join();
        System.out.println(new Json().put("refused", String.valueOf(refused[0])));
    }

    /** What the integration does when BlockHound calls it. */
    private static Object answer(Method method, Object[] arguments) throws Exception {
        switch (method.getName()) {
            case "applyTo":
                Function<Predicate<Thread>, Predicate<Thread>> more =
                        known -> known.or(thread -> thread.getName().equals("non-blocking"));
                Object builder = arguments[0];
                builder.getClass()
                        .getMethod("nonBlockingThreadPredicate", Function.class)
                        .invoke(builder, more);
                return null;
            case "compareTo":
            case "hashCode":
                return 0;
            case "equals":
                return false;
            default:
                return method.getName();
        }
    }
}
