package tyrion.truth;

import tyrion.support.Json;

/**
 * A situation whose right answer the program measures itself, with {@link System#nanoTime()} around
 * the wait, in the waiting thread.
 */
interface Scenario {
    /**
     * Runs the situation once and puts what was measured into the report. Every key that ends in
     * {@code _ns} is a number of nanoseconds.
     */
    void run(Arguments arguments, Json report) throws Exception;
}
