package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code nesting}: threads that take locks while they hold others, one thread after the other, so
 * that nothing deadlocks. In {@code pairs} stands each inner lock with all that are held then,
 * outermost first; in {@code locks} the identity hash of each.
 *
 * <ul>
 *   <li>"ab" takes B in A, "ba" takes A in B, "ab-again" B in A once more;
 *   <li>"deep" takes C, D in it, and E in both;
 *   <li>"mixed" takes a {@link ReentrantLock} in a monitor, and a monitor in a lock;
 *   <li>"twins" takes two locks of one class;
 *   <li>"reentrant" takes A, B in it, and then A again, which it has;
 *   <li>"after-wait" takes B after it gave A up and has it again.
 * </ul>
 */
final class Nesting implements Scenario {
    private static final int TIMES = 100;

    private final A a = new A();
    private final B b = new B();
    private final C c = new C();
    private final D d = new D();
    private final E e = new E();
    private final Twin left = new Twin();
    private final Twin right = new Twin();
    private final ReentrantLock lock = new ReentrantLock();
    private final List<Json> pairs = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) {
        pair("ab", "B", Arrays.asList("A"), this::takeBInA);
        pair("ba", "A", Arrays.asList("B"), this::takeAInB);
        pair("ab-again", "B", Arrays.asList("A"), this::takeBInA);
        tell("deep", "D", Arrays.asList("C"));
        pair("deep", "E", Arrays.asList("C", "D"), this::takeDeep);
        tell("mixed", "lock", Arrays.asList("A"));
        pair("mixed", "B", Arrays.asList("lock"), this::takeMixed);
        pair("twins", "right", Arrays.asList("left"), this::takeTwins);
        pair("reentrant", "B", Arrays.asList("A"), this::takeReentrant);
        pair("after-wait", "B", Arrays.asList("A"), this::takeAfterWait);
        report.put("pairs", pairs).put("locks", Arrays.asList(
                named("A", a), named("B", b), named("C", c), named("D", d), named("E", e),
                named("left", left), named("right", right)));
    }

    private void tell(String thread, String inner, List<String> outer) {
        pairs.add(new Json().put("thread", thread).put("inner", inner).put("outer", outer));
    }

    private void pair(String thread, String inner, List<String> outer, Runnable body) {
        tell(thread, inner, outer);
        Threads.join(Threads.start(thread, () -> {
            for (int i = 0; i < TIMES; i++) {
                body.run();
            }
        }));
    }

    private static Json named(String name, Object lock) {
        return new Json()
                .put("name", name)
                .put("class", lock.getClass().getName())
                .put("hash", System.identityHashCode(lock));
    }

    private void takeBInA() {
        synchronized (a) {
            synchronized (b) {
                b.taken++;
            }
        }
    }

    private void takeAInB() {
        synchronized (b) {
            a.take();
        }
    }

    private void takeDeep() {
        synchronized (c) {
            d.takeAround(this::takeE);
        }
    }

    private void takeE() {
        synchronized (e) {
            e.taken++;
        }
    }

    private void takeMixed() {
        synchronized (a) {
            lock.lock();
            lock.unlock();
        }
        lock.lock();
        try {
            synchronized (b) {
                b.taken++;
            }
        } finally {
            lock.unlock();
        }
    }

    private void takeTwins() {
        synchronized (left) {
            synchronized (right) {
                right.taken++;
            }
        }
    }

    private void takeReentrant() {
        synchronized (a) {
            synchronized (b) {
                synchronized (a) {
                    a.taken++;
                }
            }
        }
    }

    private void takeAfterWait() {
        synchronized (a) {
            try {
                a.wait(1);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            synchronized (b) {
                b.taken++;
            }
        }
    }

    /** What is locked. */
    private abstract static class Taken {
        long taken;
    }

    private static final class A extends Taken {
        synchronized void take() {
            taken++;
        }
    }

    private static final class B extends Taken {}

    private static final class C extends Taken {}

    private static final class D extends Taken {
        synchronized void takeAround(Runnable inside) {
            inside.run();
        }
    }

    private static final class E extends Taken {}

    private static final class Twin extends Taken {}
}
