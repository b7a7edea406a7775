package tyrion.subjects;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import tyrion.support.Ballast;

/**
 * {@code FullHeap [passed]}: takes locks in each way, at places that have never run (or, with
 * {@code passed}, have), while the heap has no room for anything. Nothing here allocates. Prints
 * which ways threw what, and, as its last line, how many did: without an agent, none does. With
 * {@code -Dtruth.go=FILE} it prints "ready" and begins when there is such a file.
 */
public final class FullHeap {
    private static final Object MONITOR = new Object();
    private static final Object OTHER = new Object();
    private static final RuntimeException PASSED_ON = new IllegalStateException();
    private static Object[] ballast;
    private static int count;

    private FullHeap() {}

    /** A way to take locks. */
    private interface Way {
        void take() throws Exception;
    }

    private static final class Block implements Way {
        @Override
        public void take() {
            synchronized (MONITOR) {
                count++;
            }
        }
    }

    private static final class Method implements Way {
        @Override
        public synchronized void take() {
            count++;
        }
    }

    private static final class Static implements Way {
        @Override
        public void take() {
            taken();
        }

        private static synchronized void taken() {
            count++;
        }
    }

    private static final class Fresh implements Way {
        private final Method[] locks = new Method[1000];

        Fresh() {
            for (int i = 0; i < locks.length; i++) {
                locks[i] = new Method();
            }
        }

        @Override
        public void take() {
            for (Method lock : locks) {
                lock.take();
            }
        }
    }

    private static final class Nested implements Way {
        @Override
        public void take() {
            synchronized (MONITOR) {
                synchronized (OTHER) {
                    count++;
                }
            }
        }
    }

    private static final class Recursive implements Way {
        @Override
        public void take() {
            take(5);
        }

        private void take(int depth) {
            synchronized (MONITOR) {
                if (depth > 0) {
                    take(depth - 1);
                }
            }
        }
    }

    private static final class Left implements Way {
        @Override
        public void take() {
            try {
                synchronized (MONITOR) {
                    throw PASSED_ON;
                }
            } catch (IllegalStateException e) {
                count++;
            }
        }
    }

    private static final class Notified implements Way {
        @Override
        public void take() {
            synchronized (MONITOR) {
                MONITOR.notifyAll();
            }
        }
    }

    private static final class Waited implements Way {
        @Override
        public void take() throws InterruptedException {
            synchronized (OTHER) {
                OTHER.wait(1);
                OTHER.notify();
            }
        }
    }

    private static final class Locked implements Way {
        private final Lock lock;

        Locked(Lock lock) {
            this.lock = lock;
        }

        @Override
        public void take() {
            lock.lock();
            lock.unlock();
            if (lock.tryLock()) {
                lock.unlock();
            }
        }
    }

    private static final class Stamped implements Way {
        private final StampedLock lock = new StampedLock();

        @Override
        public void take() {
            lock.unlockWrite(lock.writeLock());
            lock.unlockRead(lock.readLock());
        }
    }

    private static final class Permit implements Way {
        private final Semaphore semaphore = new Semaphore(1);

        @Override
        public void take() throws InterruptedException {
            semaphore.acquire();
            semaphore.release();
        }
    }

    /**
     * Has the JDK's code of its locks run: that has classes of its own to load. By reflection, so
     * that nothing of this program's runs that takes a lock.
     */
    private static void passJdk() throws ReflectiveOperationException {
        ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
        Lock[] locks = {new ReentrantLock(), readWrite.readLock(), readWrite.writeLock()};
        for (Lock lock : locks) {
            for (String method : new String[] {"lock", "unlock", "tryLock", "unlock"}) {
                Lock.class.getMethod(method).invoke(lock);
            }
        }
        StampedLock stamped = new StampedLock();
        for (String kind : new String[] {"Write", "Read"}) {
            Object stamp = StampedLock.class.getMethod(kind.toLowerCase() + "Lock").invoke(stamped);
            StampedLock.class.getMethod("unlock" + kind, long.class).invoke(stamped, stamp);
        }
        Semaphore semaphore = new Semaphore(1);
        Semaphore.class.getMethod("acquire").invoke(semaphore);
        Semaphore.class.getMethod("release").invoke(semaphore);
    }

    /** Takes locks before the heap is full, and after. */
    public static void main(String[] arguments) throws Exception {
        ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
        List<Way> list = new ArrayList<>();
        list.add(new Block());
        list.add(new Method());
        list.add(new Static());
        list.add(new Fresh());
        list.add(new Nested());
        list.add(new Recursive());
        list.add(new Left());
        list.add(new Notified());
        list.add(new Waited());
        list.add(new Locked(new ReentrantLock()));
        list.add(new Locked(readWrite.readLock()));
        list.add(new Locked(readWrite.writeLock()));
        list.add(new Stamped());
        list.add(new Permit());
        Way[] ways = list.toArray(new Way[0]);
        Throwable[] thrown = new Throwable[ways.length];
        passJdk();
        String go = System.getProperty("truth.go");
        if (go != null) {
            System.out.println("ready");
            while (!new File(go).exists()) {
                Thread.sleep(10);
            }
        }
        if (arguments.length > 0) {
            for (Way way : ways) {
                way.take();
            }
        }
        ballast = Ballast.ofAllThatIsFree();
        for (int i = 0; i < ways.length; i++) {
            try {
                ways[i].take();
            } catch (Throwable e) {
                thrown[i] = e;
            }
        }
        ballast = null;
        int threw = 0;
        for (int i = 0; i < ways.length; i++) {
            if (thrown[i] != null) {
                threw++;
                System.out.println(ways[i].getClass().getSimpleName() + ": " + thrown[i]);
            }
        }
        System.out.println("{\"threw\": " + threw + "}");
    }
}
