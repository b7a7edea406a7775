package tyrion.selfcheck;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** One thread that holds hundreds of locks at a time: more than anybody keeps a list for. */
final class ManyHeld implements SelfCheck.Check {
    private static final int MANY = 500;

    private final List<Object> monitors = new ArrayList<>();
    private final List<ReentrantLock> locks = new ArrayList<>();

    @Override
    public void run() {
        for (int i = 0; i < MANY; i++) {
            monitors.add(new Object());
            locks.add(new ReentrantLock());
        }
        for (int round = 0; round < 3; round++) {
            enter(0);
            for (Object monitor : monitors) {
                Locked.check(!Thread.holdsLock(monitor), "held after all");
            }
            lockAll();
        }
        Locked.free(monitors.get(0), "the first");
        Locked.free(monitors.get(MANY - 1), "the last");
    }

    private void enter(int index) {
        if (index < MANY) {
            synchronized (monitors.get(index)) {
                enter(index + 1);
                Locked.has(monitors.get(index), "one of many");
            }
        } else {
            for (Object monitor : monitors) {
                Locked.has(monitor, "one of all");
            }
        }
    }

    /** Given back in the order that they were taken. */
    private void lockAll() {
        for (ReentrantLock lock : locks) {
            lock.lock();
        }
        for (ReentrantLock lock : locks) {
            Locked.check(lock.getHoldCount() == 1, "a lock of many");
            lock.unlock();
            Locked.check(!lock.isLocked(), "a lock given back");
        }
    }
}
