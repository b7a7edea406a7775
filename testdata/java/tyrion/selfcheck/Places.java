package tyrion.selfcheck;

import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** Locks in constructors, initializers, lambdas, and inner, local, anonymous classes. */
final class Places implements SelfCheck.Check {
    private static final Object STATIC_LOCK = new Object();
    private static final int FROM_STATIC_BLOCK;

    static {
        int value = 0;
        synchronized (STATIC_LOCK) {
            Locked.held(STATIC_LOCK, "in the static initializer");
            for (int i = 0; i < 3; i++) {
                synchronized (Places.class) {
                    value += i;
                }
            }
        }
        FROM_STATIC_BLOCK = value;
    }

    private final Object lock = new Object();
    private int calls;

    @Override
    public void run() {
        Locked.check(FROM_STATIC_BLOCK == 3, "what the static initializer computed");
        Locked.free(STATIC_LOCK, "after the static initializer");
        Locked.free(Places.class, "the class");

        Locked.check(new Built(lock, 3).value == 13, "the constructor");
        Locked.free(lock, "after the constructor");
        Throwable thrown = Locked.thrownBy(() -> new Built(lock, -1));
        Locked.check(thrown instanceof IllegalArgumentException, "threw " + thrown);
        Locked.free(lock, "after the constructor threw");

        lambdas();
        new Inner().use();
        Locked.free(this, "after the inner class");
        anonymousAndLocal();
        Locked.free(lock, "after all");
        Locked.check(new Defaulting() {}.twice(4) == 8, "a default method");
        Locked.check(Defaulting.shared(5) == 6, "an interface's static method");
        Locked.free(Defaulting.class, "the interface");
        Locked.check(generic("g").equals("g") && varargs(1, 2, 3) == 6, "others");
    }

    private void lambdas() {
        Object own = new Object();
        IntSupplier lambda = () -> {
            synchronized (own) {
                Locked.has(own, "in a lambda");
                synchronized (this) {
                    return ++calls;
                }
            }
        };
        for (int i = 1; i <= 100; i++) {
            Locked.check(lambda.getAsInt() == i, "what the lambda gives");
        }
        Supplier<Supplier<String>> nested = () -> {
            synchronized (own) {
                return () -> {
                    Locked.check(!Thread.holdsLock(own), "held in the inner lambda");
                    synchronized (own) {
                        return "inner";
                    }
                };
            }
        };
        Locked.check(nested.get().get().equals("inner"), "what the inner lambda gives");
        Supplier<String> reference = this::synchronizedMethod;
        Locked.check(reference.get().equals("method"), "what the method reference gives");
        Locked.free(own, "after the lambdas");
        Locked.free(this, "after the lambdas");
    }

    private synchronized String synchronizedMethod() {
        Locked.has(this, "by a method reference");
        return "method";
    }

    private void anonymousAndLocal() {
        Runnable anonymous = new Runnable() {
            @Override
            public synchronized void run() {
                Locked.has(this, "the anonymous object");
                synchronized (Places.this) {
                    Locked.has(Places.this, "the object around");
                }
            }
        };
        anonymous.run();
        Locked.free(anonymous, "the anonymous object");
        class Local {
            synchronized int value() {
                synchronized (lock) {
                    return 5;
                }
            }
        }
        Locked.check(new Local().value() == 5, "the local class");
    }

    private synchronized <T extends Comparable<T>> T generic(T value) {
        return value;
    }

    private static synchronized int varargs(int... values) {
        int sum = 0;
        for (int value : values) {
            sum += value;
        }
        return sum;
    }

    private final class Inner {
        void use() {
            synchronized (Places.this) {
                synchronized (this) {
                    Locked.held(Places.this, "the object around");
                    Locked.held(this, "the inner object");
                }
            }
        }
    }

    /** Has locked before its super constructor runs, in a block of its own, and afterwards. */
    private static final class Built extends Base {
        private final int value;
        private final int fromInitializer;

        {
            synchronized (this) {
                Locked.has(this, "in the initializer");
                fromInitializer = 10;
            }
        }

        Built(Object lock, int value) {
            super(lockedBefore(lock, value));
            synchronized (lock) {
                synchronized (this) {
                    if (value < 0) {
                        throw new IllegalArgumentException();
                    }
                    this.value = value + fromInitializer;
                }
            }
        }

        private static synchronized int lockedBefore(Object lock, int value) {
            synchronized (lock) {
                return value;
            }
        }
    }

    private static class Base {
        Base(int value) {
            synchronized (Base.class) {
                Locked.check(value < 100, "the argument");
            }
        }
    }

    private interface Defaulting {
        default int twice(int value) {
            synchronized (this) {
                return 2 * value;
            }
        }

        static int shared(int value) {
            synchronized (Defaulting.class) {
                return value + 1;
            }
        }
    }
}
