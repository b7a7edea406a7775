import java.util.Objects;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Locks by all the names that a program can have for them: see the README beside this file. */
public class Names {
    static final Object SHARED = new Object();
    final ReentrantLock lock = new ReentrantLock();
    final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    final Object[][] stripes = new Object[4][4];
    Names next;

    void fields() {
        synchronized (lock) {
            next.lock.lock();
        }
        synchronized (next.next.lock) {
            synchronized (SHARED) {
                count(1L, 2.0);
            }
        }
    }

    void selves() {
        synchronized (this) {
            synchronized (Names.class) {
                synchronized (int[].class) {
                    synchronized ("text") {
                        count(1, 2);
                    }
                }
            }
        }
    }

    static void parameters(long before, Object given, Names[] others) {
        synchronized (given) {
            others[(int) before].lock.lock();
        }
        synchronized (others[0]) {
            given = others;
        }
    }

    void locals(boolean which) throws InterruptedException {
        final ReentrantLock lock = this.lock;
        lock.lockInterruptibly();
        Object fresh = new Object();
        synchronized (fresh) {
            synchronized (new Object()) {
                count(1, 2);
            }
        }
        Object either = which ? SHARED : this;
        synchronized (either) {
            count(1, 2);
        }
        Object[] row = stripes[1];
        for (int i = 0; i < row.length; i++) {
            synchronized (row[i]) {
                count(i, 2);
            }
        }
    }

    void calls(Names other) {
        synchronized (find()) {
            synchronized (other.find()) {
                synchronized (next.find()) {
                    synchronized (make(1)) {
                        ((Lock) Objects.requireNonNull(lock)).lock();
                    }
                }
            }
        }
    }

    void halves(Names other) {
        both.readLock().lock();
        final Lock writer = other.both.writeLock();
        writer.lock();
    }

    Runnable inner(Object captured) {
        return new Runnable() {
            @Override
            public void run() {
                synchronized (Names.this) {
                    synchronized (captured) {
                        lock.lock();
                    }
                }
            }
        };
    }

    synchronized void method() {}

    static synchronized void staticMethod() {}

    Object find() {
        return this;
    }

    static Object make(int n) {
        return n;
    }

    static void count(double a, double b) {}
}
