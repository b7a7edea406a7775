package tyrion.truth;

import java.util.concurrent.locks.ReentrantLock;

/** Hand over hand: the first lock is given back while the second is held. */
final class CountedChain extends Counted {
    private final ReentrantLock first = new ReentrantLock();
    private final ReentrantLock second = new ReentrantLock();

    @Override
    void round(int number, Tally tally) {
        first.lock();
        tally.acquisitions++;
        second.lock();
        tally.acquisitions++;
        first.unlock();
        tally.alone++;
        plain++;
        second.unlock();
    }
}
