package tyrion.truth;

import tyrion.support.Json;

/**
 * Prints "ready" and waits for SIGTERM; then its shutdown hook prints "hook ran" and the JVM exits
 * with 143. A wrapper around the JVM, and an agent in it, must leave both as they are.
 */
final class Signal implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("hook ran");
            System.out.flush();
        }, "hook"));
        System.out.println("ready");
        System.out.flush();
        Threads.sleepForever();
    }
}
