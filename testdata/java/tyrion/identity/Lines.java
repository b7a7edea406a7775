package tyrion.identity;

/**
 * Waits at four lines of one class, with nothing between what takes a lock and the next line. Each
 * step does the same again, and a test changes meanwhile what is recorded, or the class.
 */
public final class Lines {
    private static final Object A = new Object();
    private static final Object B = new Object();
    private static final Object C = new Object();
    private static final Object D = new Object();

    private Lines() {}

    static void four() {
        synchronized (A) {
            Account.at(A, 1);
        }
        synchronized (B) {
            Account.at(B, 2);
        }
        synchronized (C) {
            Account.at(C, 3);
        }
        synchronized (D) {
            Account.at(D, 4);
        }
    }

    public static void main(String[] args) {
        Account.begin();
        each();
        for (String step : args) {
            Account.step(step);
            each();
        }
        Account.end();
    }

    private static void each() {
        for (int place = 1; place <= 4; place++) {
            Account.contend(place, Lines::four, Lines::four);
        }
    }
}
