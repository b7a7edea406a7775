package tyrion.selfcheck;

import java.util.concurrent.TimeUnit;

/**
 * A {@link StackOverflowError} out of recursion through locks. Wherever the stack ends, and be it in
 * what a profiler does on the way out, all locks are free afterwards, and the thread can take them
 * again. The recursion begins at many heights, so that the stack ends at many places.
 */
final class Overflow implements SelfCheck.Check {
    private static final int HEIGHTS = 48;
    private static final long STACK_BYTES = 256 * 1024;
    /** How often the locks are taken afterwards: a profiler must count exactly these. */
    static final int AFTERWARDS = 1_000;

    private final Recursion recursion;

    private Overflow(Recursion recursion) {
        this.recursion = recursion;
    }

    static Overflow ofMethods() {
        return new Overflow(new Methods());
    }

    static Overflow ofBlocks() {
        return new Overflow(new Blocks());
    }

    static Overflow ofMixed() {
        return new Overflow(new Mixed());
    }

    static Overflow ofLeaves() {
        return new Overflow(new Leaves());
    }

    /** What overflows. */
    abstract static class Recursion {
        final Object lock = new Object();
        int deepest;

        /** Takes locks and goes one deeper, for ever. */
        abstract void deeper(int depth);

        /** Whether the thread still has a lock. */
        abstract boolean holdsAny();

        /** Takes the locks, once. */
        abstract void takeAll();
    }

    @Override
    public void run() throws Exception {
        Throwable[] problem = new Throwable[1];
        Thread thread = new Thread(null, () -> {
            try {
                for (int height = 0; height < HEIGHTS; height++) {
                    overflowFrom(height);
                }
                for (int i = 0; i < AFTERWARDS; i++) {
                    afterwards();
                }
            } catch (Throwable wrong) {
                problem[0] = wrong;
            }
        }, "overflowing", STACK_BYTES);
        // Exits that go wrong may go on for ever.
        thread.setDaemon(true);
        thread.start();
        thread.join(TimeUnit.MINUTES.toMillis(4));
        Locked.check(!thread.isAlive(), "it does not end");
        if (problem[0] != null) {
            throw new IllegalStateException(problem[0]);
        }
        Locked.check(recursion.deepest > 100, "no depth: " + recursion.deepest);
        Locked.free(recursion, "the object, once the thread has ended");
        Locked.free(recursion.lock, "the lock, once the thread has ended");
        Locked.free(recursion.getClass(), "the class, once the thread has ended");
    }

    private void overflowFrom(int height) {
        if (height > 0) {
            // A small frame, so that the stack ends elsewhere.
            overflowFrom(height - 1);
            return;
        }
        boolean overflowed = false;
        try {
            recursion.deeper(0);
        } catch (StackOverflowError e) {
            overflowed = true;
        }
        Locked.check(overflowed, "no overflow");
        Locked.check(!recursion.holdsAny(), "held after an overflow");
    }

    private void afterwards() {
        recursion.takeAll();
        Locked.check(!recursion.holdsAny(), "held after all");
    }

    private static final class Methods extends Recursion {
        @Override
        synchronized void deeper(int depth) {
            deepest = Math.max(deepest, depth);
            more(depth + 1, depth, depth);
        }

        private synchronized long more(int depth, long a, double b) {
            if (depth % 3 == 0) {
                again(this, depth);
            } else {
                deeper(depth + 1);
            }
            return a + (long) b;
        }

        private static synchronized void again(Methods methods, int depth) {
            methods.deeper(depth + 1);
        }

        @Override
        boolean holdsAny() {
            return Thread.holdsLock(this) || Thread.holdsLock(Methods.class);
        }

        @Override
        synchronized void takeAll() {
            takeClass();
        }

        private static synchronized void takeClass() {
            Locked.has(Methods.class, "afterwards");
        }
    }

    private static final class Blocks extends Recursion {
        @Override
        void deeper(int depth) {
            synchronized (lock) {
                deepest = Math.max(deepest, depth);
                more(depth + 1, depth, depth);
            }
        }

        private long more(int depth, long a, double b) {
            try {
                synchronized (depth % 2 == 0 ? lock : this) {
                    deeper(depth + 1);
                }
            } finally {
                synchronized (this) {
                    deepest++;
                }
            }
            return a + (long) b;
        }

        @Override
        boolean holdsAny() {
            return Thread.holdsLock(this) || Thread.holdsLock(lock);
        }

        @Override
        void takeAll() {
            synchronized (lock) {
                synchronized (this) {
                    Locked.has(lock, "afterwards");
                }
            }
        }
    }

    /** Locks are taken at each depth and given back: nothing that holds one is left by the error. */
    private static final class Leaves extends Recursion {
        @Override
        void deeper(int depth) {
            leaf();
            classLeaf();
            deepest = Math.max(deepest, depth);
            deeper(depth + 1);
        }

        private synchronized void leaf() {}

        private static synchronized void classLeaf() {}

        @Override
        boolean holdsAny() {
            return Thread.holdsLock(this) || Thread.holdsLock(Leaves.class);
        }

        @Override
        synchronized void takeAll() {
            takeClass();
        }

        private static synchronized void takeClass() {
            Locked.has(Leaves.class, "afterwards");
        }
    }

    /** Blocks and methods in turns, and a lambda's frame between. */
    private static final class Mixed extends Recursion {
        @Override
        synchronized void deeper(int depth) {
            deepest = Math.max(deepest, depth);
            Runnable next = () -> {
                synchronized (lock) {
                    inClass(this, depth + 1);
                }
            };
            next.run();
        }

        private static void inClass(Mixed mixed, int depth) {
            synchronized (Mixed.class) {
                synchronized (mixed) {
                    mixed.deeper(depth + 1);
                }
            }
        }

        @Override
        boolean holdsAny() {
            return Thread.holdsLock(this) || Thread.holdsLock(lock)
                    || Thread.holdsLock(Mixed.class);
        }

        @Override
        synchronized void takeAll() {
            synchronized (lock) {
                synchronized (Mixed.class) {
                    Locked.has(lock, "afterwards");
                }
            }
        }
    }
}
