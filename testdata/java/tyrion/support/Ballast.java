package tyrion.support;

/** What fills a heap. */
public final class Ballast {
    private Ballast() {}

    /** As much as there is room for: not even the smallest object has any, until this is dropped. */
    public static Object[] ofAllThatIsFree() {
        Object[] last = null;
        for (int size = 1 << 20; size > 0; ) {
            try {
                Object[] more = new Object[size];
                more[0] = last;
                last = more;
            } catch (OutOfMemoryError e) {
                size /= 2;
            }
        }
        return last;
    }
}
