package tyrion.otel;

/** What the agent knows a thread's span by. */
final class Slot {
    /** The agent reads it, on any thread. */
    Active active;

    /** Whether the agent does. */
    boolean isKnown;

    /** Whose it is. */
    final long thread = Thread.currentThread().getId();
}
