package tyrion.truth;

import tyrion.support.Json;

/**
 * {@code exit CODE ARGUMENT...}: prints the arguments, one a line, and exits with CODE. A wrapper
 * around the JVM has to pass on both.
 */
final class Exit implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) {
        for (String argument : arguments.from(1)) {
            System.out.println(argument);
        }
        System.exit(arguments.number(0, 0));
    }
}
