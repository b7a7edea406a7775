/**
 * Tells Tyrion, a lock profiler for the JVM, in which spans of OpenTelemetry threads are. Without
 * Tyrion's agent it does nothing.
 */
package tyrion.otel;
