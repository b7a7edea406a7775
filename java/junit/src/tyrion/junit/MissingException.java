package tyrion.junit;

/** Nothing can be recorded here, or read. */
final class MissingException extends Exception {
    private static final long serialVersionUID = 1;

    MissingException(String reason) {
        super("tyrion: " + reason);
    }
}
