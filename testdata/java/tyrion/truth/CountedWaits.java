package tyrion.truth;

/**
 * A monitor that is given up in {@link Object#wait} now and then, once and twice entered. To have it
 * again after that is no acquisition.
 */
final class CountedWaits extends Counted {
    private final Object lock = new Object();

    @Override
    void round(int number, Tally tally) throws InterruptedException {
        synchronized (lock) {
            tally.acquisitions++;
            tally.alone++;
            plain++;
            if (number % 2048 == 1) {
                lock.wait(1);
            } else if (number % 2048 == 2) {
                synchronized (lock) {
                    tally.reentrant++;
                    lock.wait(1);
                }
            } else if (number % 512 == 3) {
                lock.notifyAll();
            }
        }
    }
}
