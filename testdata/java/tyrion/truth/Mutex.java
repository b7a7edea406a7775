package tyrion.truth;

import java.util.concurrent.locks.AbstractQueuedSynchronizer;

/**
 * A lock that the JDK does not know, built as the documentation of {@link
 * AbstractQueuedSynchronizer} shows: not reentrant, and it names its owner.
 */
final class Mutex {
    /** State 1 is locked, 0 is free. */
    private static final class Sync extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean tryAcquire(int ignored) {
            if (!compareAndSetState(0, 1)) {
                return false;
            }
            setExclusiveOwnerThread(Thread.currentThread());
            return true;
        }

        @Override
        protected boolean tryRelease(int ignored) {
            setExclusiveOwnerThread(null);
            setState(0);
            return true;
        }
    }

    private final Sync sync = new Sync();

    void lock() {
        sync.acquire(1);
    }

    void unlock() {
        sync.release(1);
    }
}
