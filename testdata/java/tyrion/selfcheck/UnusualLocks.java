package tyrion.selfcheck;

import java.util.ArrayList;
import java.util.List;

/** Locks that are not plain objects: classes, texts, arrays, threads, exceptions, lambdas. */
final class UnusualLocks implements SelfCheck.Check {
    private enum Colour { RED, GREEN }

    @Override
    public void run() {
        List<Object> locks = new ArrayList<>();
        locks.add(UnusualLocks.class);
        locks.add(int.class);
        locks.add(String[].class);
        locks.add("a text of this check");
        locks.add(new int[0]);
        locks.add(new Object[2][3]);
        locks.add(Thread.currentThread());
        locks.add(new Throwable());
        locks.add(Colour.GREEN);
        locks.add((Runnable) () -> {});
        locks.add(UnusualLocks.class.getClassLoader());
        // With an identity hash before it is locked, and while it is.
        Object hashed = new Object();
        int hash = System.identityHashCode(hashed);
        locks.add(hashed);
        for (Object lock : locks) {
            for (int i = 0; i < 20; i++) {
                synchronized (lock) {
                    Locked.has(lock, lock.getClass().getName());
                    System.identityHashCode(lock);
                    synchronized (lock) {
                        Locked.has(lock, "twice");
                    }
                }
            }
            Locked.free(lock, lock.getClass().getName());
        }
        Locked.check(System.identityHashCode(hashed) == hash, "the hash");
        Locked.check(array(new int[] {1, 2}) == 3, "an array as the lock");
        Locked.check(longs(1L, 2.0, new Object()) == 3L, "long arguments before the lock");
        Locked.free(Colour.RED, "what was never locked");
    }

    private static int array(int[] values) {
        synchronized (values) {
            return values[0] + values[1];
        }
    }

    private static long longs(long a, double b, Object lock) {
        synchronized (lock) {
            long c = a;
            synchronized (UnusualLocks.class) {
                c += (long) b;
            }
            return c;
        }
    }
}
