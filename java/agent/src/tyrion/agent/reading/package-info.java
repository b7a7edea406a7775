/** Has the command {@code tyrion} read logs, for Tyrion's own libraries. */
package tyrion.agent.reading;
