/**
 * Loads Tyrion's agent, a lock profiler for the JVM, from this very jar: {@link
 * tyrion.agent.Tyrion#load(String)}, or {@code -javaagent:tyrion-agent.jar=OPTIONS}.
 */
package tyrion.agent;
