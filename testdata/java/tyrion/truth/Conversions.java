package tyrion.truth;

import java.util.concurrent.locks.StampedLock;
import tyrion.support.Json;

/**
 * {@code conversions [ROUNDS]}: one thread changes the mode in which it has a {@link StampedLock}.
 * What it has in the new mode is another acquisition, unless it had the lock in that mode already.
 */
final class Conversions implements Scenario {
    private final StampedLock lock = new StampedLock();
    private long reads;
    private long readsAgain;
    private long writes;
    private long failed;

    @Override
    public void run(Arguments arguments, Json report) {
        int rounds = arguments.number(0, 300);
        Threads.join(
                Threads.start(
                        "converter",
                        () -> {
                            for (int i = 0; i < rounds; i++) {
                                readToWrite();
                                writeToRead();
                                optimistic();
                                stays();
                                fails();
                            }
                        }));
        report.put("class", Conversions.class.getName())
                .put("reads", reads)
                .put("reads_again", readsAgain)
                .put("writes", writes)
                .put("failed", failed);
    }

    private void readToWrite() {
        long read = lock.readLock();
        reads++;
        long write = check(lock.tryConvertToWriteLock(read));
        writes++;
        lock.unlockWrite(write);
    }

    private void writeToRead() {
        long write = lock.writeLock();
        writes++;
        long read = check(lock.tryConvertToReadLock(write));
        reads++;
        lock.unlockRead(read);
    }

    private void optimistic() {
        long write = check(lock.tryConvertToWriteLock(lock.tryOptimisticRead()));
        writes++;
        long seen = check(lock.tryConvertToOptimisticRead(write));
        long read = check(lock.tryConvertToReadLock(seen));
        reads++;
        lock.unlock(read);
    }

    private void stays() {
        long write = lock.writeLock();
        writes++;
        long same = check(lock.tryConvertToWriteLock(write));
        lock.unlockWrite(same);
        long read = lock.readLock();
        reads++;
        lock.unlockRead(check(lock.tryConvertToReadLock(read)));
    }

    private void fails() {
        long read = lock.readLock();
        reads++;
        long again = lock.readLock();
        readsAgain++;
        if (lock.tryConvertToWriteLock(read) != 0) {
            throw new IllegalStateException("there is another reader");
        }
        failed++;
        lock.unlockRead(again);
        lock.unlockRead(read);
    }

    private static long check(long stamp) {
        if (stamp == 0) {
            throw new IllegalStateException("not converted");
        }
        return stamp;
    }
}
