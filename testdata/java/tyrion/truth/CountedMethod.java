package tyrion.truth;

/** A synchronized method, at times called from itself. */
final class CountedMethod extends Counted {
    @Override
    void round(int number, Tally tally) {
        enter(number % 4 == 0 ? 1 + number % 3 : 0, tally);
    }

    private synchronized void enter(int again, Tally tally) {
        tally.acquisitions++;
        tally.alone++;
        plain++;
        if (again > 0) {
            enterAgain(again, tally);
        }
    }

    private synchronized void enterAgain(int again, Tally tally) {
        tally.reentrant++;
        if (again > 1) {
            enterAgain(again - 1, tally);
        }
    }
}
