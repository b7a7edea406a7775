package tyrion.selfcheck;

/** Locks in locks, and the same lock again and again. */
final class Nested implements SelfCheck.Check {
    private final Object outer = new Object();
    private final Object inner = new Object();
    private int depth;

    @Override
    public void run() {
        synchronized (outer) {
            Locked.held(outer, "outer");
            synchronized (inner) {
                Locked.held(inner, "inner");
                synchronized (outer) {
                    Locked.has(outer, "outer again");
                }
                Locked.held(outer, "outer after it was left once");
            }
            Locked.free(inner, "inner");
            Locked.held(outer, "outer without inner");
        }
        Locked.free(outer, "outer");
        recursiveMethod(50);
        Locked.free(this, "after the recursion");
        recursiveBlock(50);
        Locked.free(inner, "after the recursion of blocks");
        Locked.check(recursiveStatic(50) == 51, "the recursion's result");
        Locked.free(Nested.class, "after the static recursion");
    }

    private synchronized void recursiveMethod(int left) {
        depth++;
        if (left > 0) {
            recursiveMethod(left - 1);
        } else {
            Locked.held(this, "51 times");
        }
        Locked.has(this, "on the way back");
        depth--;
        Locked.check(depth >= 0, "the depth");
    }

    private void recursiveBlock(int left) {
        synchronized (inner) {
            if (left > 0) {
                recursiveBlock(left - 1);
            }
            Locked.has(inner, "on the way back");
        }
    }

    private static synchronized int recursiveStatic(int left) {
        Locked.has(Nested.class, "the class");
        return left == 0 ? 1 : 1 + recursiveStatic(left - 1);
    }
}
