package tyrion.truth;

/** A synchronized block, at times in itself, and in itself again. */
final class CountedBlock extends Counted {
    private final Object lock = new Object();

    @Override
    void round(int number, Tally tally) {
        synchronized (lock) {
            tally.acquisitions++;
            tally.alone++;
            plain++;
            if (number % 4 == 0) {
                again(number, tally);
            }
        }
    }

    private void again(int number, Tally tally) {
        synchronized (lock) {
            tally.reentrant++;
            if (number % 16 == 0) {
                synchronized (lock) {
                    tally.reentrant++;
                }
            }
        }
    }
}
