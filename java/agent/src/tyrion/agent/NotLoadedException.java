package tyrion.agent;

/** Why the agent has not been loaded, or does not follow its options: one line. */
public final class NotLoadedException extends Exception {
    private static final long serialVersionUID = 1;

    NotLoadedException(String message) {
        super(message);
    }
}
