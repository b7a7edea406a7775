package tyrion.owners;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import tyrion.support.Older;

/**
 * {@code Circles NAME MILLIS [virtual]}: threads take locks as NAME says, and after so many
 * milliseconds the JVM is halted, wherever they are. The names that begin with "dead" end in a
 * deadlock, within 100 ms if the machine is not too busy; the program prints "dead" once it is
 * there, and only then counts the milliseconds. In all others no thread ever waits for ever.
 */
public final class Circles {
    private final boolean areVirtual;
    private final Random random = new Random();
    private final Object first = new Object();
    private final Object second = new Object();
    private final Object third = new Object();
    private final ReentrantLock one = new ReentrantLock();
    private final ReentrantLock two = new ReentrantLock();
    private final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    private volatile int reached;
    /** For the classes whose initialization is a part of it. */
    private static Circles current;
    private int turn;

    private Circles(boolean areVirtual) {
        this.areVirtual = areVirtual;
    }

    public static void main(String[] arguments) throws Exception {
        Circles own = new Circles(arguments.length > 2);
        String name = arguments[0];
        own.start(name);
        if (name.startsWith("dead")) {
            while (own.reached < 2) {
                Thread.sleep(1);
            }
            // Whoever has reached the second lock waits for it soon, if it has a processor.
            Thread.sleep(300);
            while (!own.areVirtual && !areAsleep()) {
                Thread.sleep(50);
            }
            System.out.println("dead");
        }
        Holders.awaitGo();
        Thread.sleep(Long.parseLong(arguments[1]));
        Runtime.getRuntime().halt(0);
    }

    /** Whether no thread of the circle runs, or waits for a processor, as Linux tells. */
    private static boolean areAsleep() throws IOException {
        File[] threads = new File("/proc/self/task").listFiles();
        for (File thread : threads == null ? new File[0] : threads) {
            String state;
            try {
                state = new String(Files.readAllBytes(new File(thread, "stat").toPath()));
            } catch (IOException ended) {
                continue;
            }
            // The id, the name in parentheses, the state.
            int end = state.lastIndexOf(')');
            if (state.contains("(dead-") && state.charAt(end + 2) != 'S') {
                return false;
            }
        }
        return true;
    }

    private void start(String name) throws Exception {
        switch (name) {
            case "nested":
                each(() -> inOrder(first, second), () -> inOrder(first, second), () -> alone(second));
                break;
            case "three":
                each(() -> inOrder(first, second), () -> inOrder(second, third), () -> inOrder(first, third));
                break;
            case "passed":
                each(() -> alone(first), () -> alone(second), () -> alone(first), () -> alone(second));
                break;
            case "tried":
                each(() -> tries(one, two), () -> tries(two, one));
                break;
            case "timed":
                each(() -> timed(one, two), () -> timed(two, one));
                break;
            case "locks":
                each(() -> inOrder(one, two), () -> inOrder(one, two), () -> alone(two));
                break;
            case "mixed":
                each(() -> inOrder(first, one), () -> inOrder(first, one), () -> alone(one));
                break;
            case "waits":
                each(() -> waits(0), () -> waits(1), () -> waits(2));
                break;
            case "read":
                each(() -> reads(first), () -> reads(first), () -> writes(first));
                break;
            case "taken-over":
                each(() -> takesOver(first), () -> takesOver(first), () -> takesOver(first));
                break;
            case "dead":
                once(() -> dead(first, second), () -> dead(second, first));
                break;
            case "dead-contended":
                contend(first);
                contend(second);
                once(() -> dead(first, second), () -> dead(second, first));
                break;
            case "dead-locks":
                once(() -> dead(one, two), () -> dead(two, one));
                break;
            case "dead-mixed":
                once(() -> deadMixed(first, one), () -> deadMixed(one, first));
                break;
            case "dead-classes":
                current = this;
                once(() -> One.touch(), () -> Two.touch());
                break;
            case "dead-superclass":
                current = this;
                once(() -> below(), () -> Above.touch());
                break;
            case "dead-by-name":
                current = this;
                once(() -> One.touch(), () -> forName("tyrion.owners.Circles$Two"));
                break;
            case "slow-class":
                once(() -> Slow.touch(), () -> Slow.touch(), () -> Slow.touch());
                break;
            case "dead-waits":
                once(() -> deadWaits(0), this::deadNotifies);
                break;
            case "dead-timed-waits":
                // Its time is over when it has been notified already.
                once(() -> deadWaits(150), this::deadNotifies);
                break;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    /** Each again and again, in a thread of its own. */
    private void each(Runnable... bodies) throws Exception {
        for (int i = 0; i < bodies.length; i++) {
            Runnable body = bodies[i];
            Virtual.thread("thread-" + i, () -> {
                while (true) {
                    body.run();
                }
            }, areVirtual).start();
        }
    }

    private void once(Runnable... bodies) throws Exception {
        for (int i = 0; i < bodies.length; i++) {
            Virtual.thread("dead-" + i, bodies[i], areVirtual).start();
        }
    }

    private void inOrder(Object outer, Object inner) {
        synchronized (outer) {
            spin(50);
            synchronized (inner) {
                spin(100);
            }
        }
    }

    private void alone(Object lock) {
        synchronized (lock) {
            spin(150);
        }
        spin(20);
    }

    private void inOrder(Lock outer, Lock inner) {
        outer.lock();
        try {
            spin(50);
            alone(inner);
        } finally {
            outer.unlock();
        }
    }

    private void inOrder(Object outer, Lock inner) {
        synchronized (outer) {
            spin(50);
            alone(inner);
        }
    }

    private void alone(Lock lock) {
        lock.lock();
        try {
            spin(100);
        } finally {
            lock.unlock();
        }
    }

    private void tries(Lock outer, Lock inner) {
        outer.lock();
        try {
            spin(50);
            if (inner.tryLock()) {
                spin(50);
                inner.unlock();
            }
        } finally {
            outer.unlock();
        }
    }

    private void timed(Lock outer, Lock inner) {
        outer.lock();
        try {
            spin(50);
            if (inner.tryLock(40, TimeUnit.MILLISECONDS)) {
                spin(50);
                inner.unlock();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            outer.unlock();
        }
    }

    /** Three threads take turns, while each has another monitor, in one order. */
    private void waits(int own) {
        synchronized (first) {
            synchronized (second) {
                while (turn % 3 != own) {
                    // The first monitor stays with this thread for a moment only.
                    if (!awaits(second)) {
                        return;
                    }
                }
                turn++;
                second.notifyAll();
                spin(50);
            }
        }
    }

    private boolean awaits(Object lock) {
        try {
            lock.wait(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return false;
    }

    private void reads(Object inner) {
        both.readLock().lock();
        try {
            alone(inner);
        } finally {
            both.readLock().unlock();
        }
    }

    private void writes(Object inner) {
        both.writeLock().lock();
        try {
            alone(inner);
        } finally {
            both.writeLock().unlock();
        }
    }

    /** Locks that few threads ever have, so that owners change while others wait. */
    private void takesOver(Object lock) {
        synchronized (lock) {
            spin(400);
        }
        Object fresh = new Object();
        synchronized (fresh) {
            synchronized (second) {
                spin(10);
            }
        }
    }

    private void dead(Object outer, Object inner) {
        synchronized (outer) {
            reach();
            synchronized (inner) {
                throw new IllegalStateException("no deadlock");
            }
        }
    }

    private void dead(Lock outer, Lock inner) {
        outer.lock();
        reach();
        inner.lock();
        throw new IllegalStateException("no deadlock");
    }

    private void deadMixed(Object outer, Lock inner) {
        synchronized (outer) {
            reach();
            inner.lock();
            throw new IllegalStateException("no deadlock");
        }
    }

    private void deadMixed(Lock outer, Object inner) {
        outer.lock();
        reach();
        synchronized (inner) {
            throw new IllegalStateException("no deadlock");
        }
    }

    /** Holds the second monitor while it waits in the first, which the other has then. */
    private void deadWaits(long millis) {
        synchronized (second) {
            synchronized (first) {
                reached++;
                // The other one may come late.
                while (reached < 2) {
                    try {
                        first.wait(millis);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                throw new IllegalStateException("no deadlock");
            }
        }
    }

    private void deadNotifies() {
        while (reached < 1) {
            spin(100);
        }
        synchronized (first) {
            reached++;
            first.notifyAll();
            synchronized (second) {
                throw new IllegalStateException("no deadlock");
            }
        }
    }

    private void below() {
        reach();
        new Below();
    }

    private static void forName(String name) {
        try {
            Class.forName(name);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Needs the other class to be initialized, as that one needs this. */
    private static final class One {
        static {
            current.reach();
            forName("tyrion.owners.Circles$Two");
        }

        static void touch() {}
    }

    private static final class Two {
        static {
            current.reach();
            One.touch();
        }

        static void touch() {}
    }

    /** Needs a subclass of its own to be initialized. */
    private static class Above {
        static {
            current.reach();
            spin(50_000);
            new Below();
        }

        static void touch() {}
    }

    private static final class Below extends Above {
    }

    private static final class Slow {
        static {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        static void touch() {}
    }

    /** Both threads have their first lock. */
    private void reach() {
        synchronized (random) {
            reached++;
        }
        while (reached < 2) {
            spin(50);
        }
    }

    /** Makes it a monitor that somebody has waited for. */
    private static void contend(Object lock) throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (lock) {
                spin(10);
            }
        });
        synchronized (lock) {
            other.start();
            Thread.sleep(20);
        }
        other.join();
    }

    private static void spin(long micros) {
        long endNs = System.nanoTime() + micros * 1000;
        while (System.nanoTime() < endNs) {
            Older.onSpinWait();
        }
    }
}
