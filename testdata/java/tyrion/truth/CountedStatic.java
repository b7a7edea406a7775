package tyrion.truth;

/** A static synchronized method, at times with a block on the same class in it. */
final class CountedStatic extends Counted {
    private static long value;

    @Override
    void round(int number, Tally tally) {
        value(number, tally);
    }

    private static synchronized void value(int number, Tally tally) {
        tally.acquisitions++;
        value++;
        if (number % 4 == 0) {
            synchronized (CountedStatic.class) {
                tally.reentrant++;
            }
        }
    }
}
