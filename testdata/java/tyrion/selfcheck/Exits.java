package tyrion.selfcheck;

/** Every way out of a block and of a method: returns of every type, exceptions of every origin. */
final class Exits implements SelfCheck.Check {
    private final Object lock = new Object();
    private int[] none;

    @Override
    public void run() {
        Locked.check(anInt(3) == 4 && aLong(3) == 4L && aFloat(3) == 4f && aDouble(3) == 4d,
                "what methods return");
        Locked.check(anObject("a").equals("a!") && anArray(2).length == 2 && aBoolean(true),
                "what methods return");
        Locked.free(this, "after returns");
        Locked.check(fromBlock(1) == 1L && fromBlock(2) == 20L && fromBlock(3) == 30L,
                "what blocks return");
        Locked.free(lock, "after returns out of blocks");

        thrown(this::throwsOwn, IllegalStateException.class);
        thrown(this::throwsFromCallee, ArithmeticException.class);
        thrown(this::throwsOfTheJvm, NullPointerException.class);
        thrown(this::throwsError, AssertionError.class);
        thrown(Exits::throwsStatic, IllegalStateException.class);
        Locked.free(Exits.class, "after a static method threw");
        thrown(this::throwsInBlock, IllegalStateException.class);
        thrown(this::throwsInNestedBlocks, ArithmeticException.class);
        thrown(this::throwsInFinally, UnsupportedOperationException.class);
        Locked.check(caughtInside(0) == -1 && caughtInside(2) == 5, "caught inside");
        Locked.free(lock, "after what was caught inside");
        Locked.check(caughtOutside() == 7, "caught outside");
        Locked.free(lock, "after what was caught outside");
    }

    private void thrown(Runnable body, Class<? extends Throwable> type) {
        for (int i = 0; i < 50; i++) {
            Throwable thrown = Locked.thrownBy(body);
            Locked.check(type.isInstance(thrown), "threw " + thrown + ", not " + type);
            Locked.check(!Thread.holdsLock(this) && !Thread.holdsLock(lock), "held after " + type);
        }
        Locked.free(this, "this after " + type);
        Locked.free(lock, "lock after " + type);
    }

    private synchronized int anInt(int value) {
        return value + 1;
    }

    private synchronized long aLong(long value) {
        return value + 1;
    }

    private synchronized float aFloat(float value) {
        return value + 1;
    }

    private synchronized double aDouble(double value) {
        return value + 1;
    }

    private synchronized String anObject(String value) {
        return value + "!";
    }

    private synchronized int[] anArray(int length) {
        return new int[length];
    }

    private synchronized boolean aBoolean(boolean value) {
        if (!value) {
            return false;
        }
        Locked.has(this, "before a return");
        return true;
    }

    private long fromBlock(int which) {
        synchronized (lock) {
            if (which == 1) {
                return which;
            }
            long factor = 10;
            if (which == 2) {
                return which * factor;
            }
            synchronized (this) {
                return which * factor;
            }
        }
    }

    private synchronized void throwsOwn() {
        throw new IllegalStateException("own");
    }

    private synchronized void throwsFromCallee() {
        divide(1, 0);
    }

    private static int divide(int a, int b) {
        return a / b;
    }

    private synchronized void throwsOfTheJvm() {
        none[0]++;
    }

    private synchronized void throwsError() {
        throw new AssertionError("own");
    }

    private static synchronized void throwsStatic() {
        throw new IllegalStateException("static");
    }

    private void throwsInBlock() {
        synchronized (lock) {
            Locked.has(lock, "before it throws");
            throw new IllegalStateException("in the block");
        }
    }

    private void throwsInNestedBlocks() {
        synchronized (lock) {
            synchronized (this) {
                divide(1, 0);
            }
        }
    }

    private void throwsInFinally() {
        synchronized (lock) {
            try {
                divide(1, 0);
            } finally {
                synchronized (this) {
                    Locked.has(lock, "in finally");
                    throwUnsupported();
                }
            }
        }
    }

    private static void throwUnsupported() {
        throw new UnsupportedOperationException();
    }

    private int caughtInside(int divisor) {
        synchronized (lock) {
            try {
                return divide(10, divisor);
            } catch (ArithmeticException e) {
                Locked.has(lock, "in catch");
                return -1;
            } finally {
                Locked.has(lock, "in finally");
            }
        }
    }

    private int caughtOutside() {
        int result = 0;
        try {
            synchronized (lock) {
                result += 7;
                result += divide(1, 0);
            }
        } catch (ArithmeticException e) {
            Locked.check(!Thread.holdsLock(lock), "held in the catch outside");
        }
        return result;
    }
}
