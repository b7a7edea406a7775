package tyrion.identity;

/** A generated class, whose methods take locks. */
public interface Subject {
    /** Runs one of its methods. */
    void call(int method);
}
