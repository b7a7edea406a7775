package tyrion.identity;

/** A class that is redefined while its methods are on stacks. */
final class Changed {
    private static final Object A = new Object();
    private static final Object B = new Object();
    private static final Object C = new Object();
    private static final Object D = new Object();

    private Changed() {}

    static void four() {
        // MORE
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
}
