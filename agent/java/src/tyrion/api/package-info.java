/**
 * Lets a program say to Tyrion, a lock profiler for the JVM, what it is doing: {@link
 * tyrion.api.Tyrion}. Without Tyrion's agent in the JVM it does nothing, at a cost of about a
 * nanosecond.
 */
package tyrion.api;
