package tyrion.truth;

/**
 * Blocks and methods that are left by an exception in one round of three, by {@code return} from a
 * loop in another, and at their end in the third.
 */
final class CountedThrown extends Counted {
    private static final Gone GONE = new Gone();

    private final Object lock = new Object();

    /** What is thrown: made once, since its stack is of no interest. */
    private static final class Gone extends RuntimeException {
        private static final long serialVersionUID = 1;

        Gone() {
            super("gone", null, false, false);
        }
    }

    @Override
    void round(int number, Tally tally) {
        try {
            if (number % 2 == 0) {
                block(number, tally);
            } else {
                method(number, tally);
            }
        } catch (Gone gone) {
            if (number % 3 != 0) {
                throw new IllegalStateException(gone);
            }
        }
    }

    private int block(int number, Tally tally) {
        for (int i = 0; ; i++) {
            synchronized (lock) {
                tally.acquisitions++;
                switch (number % 3) {
                    case 0:
                        throw GONE;
                    case 1:
                        if (i == 2) {
                            return i;
                        }
                        continue;
                    default:
                        break;
                }
            }
            return i;
        }
    }

    private synchronized int method(int number, Tally tally) {
        tally.acquisitions++;
        tally.alone++;
        plain++;
        if (number % 3 == 0) {
            throw GONE;
        }
        for (int i = 0; i < 3; i++) {
            if (number % 3 == i) {
                return i;
            }
        }
        return -1;
    }
}
