package tyrion.whatif;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Six threads look up prices, and change one in twenty, under a mutex. After: under a read-write
 * lock.
 */
final class Catalog implements Program {
    private final Lock reading;
    private final Lock writing;

    Catalog(boolean after) {
        if (after) {
            ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
            reading = lock.readLock();
            writing = lock.writeLock();
        } else {
            reading = new ReentrantLock();
            writing = reading;
        }
    }

    @Override
    public int threads() {
        return 6;
    }

    @Override
    public void step(Work work) {
        work.micros(10);
        if (work.below(20) == 0) {
            change(work);
        } else {
            get(work);
        }
    }

    private void get(Work work) {
        reading.lock();
        try {
            work.micros(60);
        } finally {
            reading.unlock();
        }
    }

    private void change(Work work) {
        writing.lock();
        try {
            work.micros(60);
        } finally {
            writing.unlock();
        }
    }
}
