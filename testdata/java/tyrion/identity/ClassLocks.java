package tyrion.identity;

/** Synchronized methods that begin with what may initialize a class, but wait for no such thing. */
public final class ClassLocks {
    private static ClassLocks instance;
    static long count;

    private ClassLocks() {}

    /** Begins with a call of a static method. */
    synchronized long instanceCalls() {
        long now = System.nanoTime();
        Account.at(this, 1);
        return now;
    }

    /** Begins with a static field of another class. */
    synchronized long instanceReads() {
        long before = Other.count;
        Account.at(this, 2);
        return before;
    }

    /** Begins with a new object. */
    synchronized Object instanceMakes() {
        Object made = new Other();
        Account.at(this, 3);
        return made;
    }

    static synchronized long staticCalls() {
        long now = System.nanoTime();
        Account.at(ClassLocks.class, 4);
        return now;
    }

    /** As singletons do it: begins with a field of its own. */
    static synchronized ClassLocks getInstance() {
        if (instance == null) {
            instance = new ClassLocks();
        }
        Account.at(ClassLocks.class, 5);
        return instance;
    }

    static synchronized Object staticMakes() {
        Object made = new Other();
        Account.at(ClassLocks.class, 6);
        return made;
    }

    /** The class object of another class, by its name in the source. */
    static void literal() {
        synchronized (Other.class) {
            Account.at(Other.class, 7);
        }
    }

    /** What the methods begin with. */
    static final class Other {
        static long count = System.nanoTime();
    }

    /** Its initialization takes as long as it is told to. */
    static final class Slow {
        static final long MADE = make();

        private static long make() {
            Thread thread = Thread.currentThread();
            if (thread instanceof Initializer) {
                ((Initializer) thread).keep();
            }
            return System.nanoTime();
        }
    }

    /** Initializes {@link Slow} and stays in it until it is released. */
    static final class Initializer extends Thread {
        private volatile boolean isIn;
        private volatile boolean released;

        @Override
        public void run() {
            count += Slow.MADE;
        }

        void keep() {
            isIn = true;
            Actor.await(() -> released);
        }
    }

    private static void waitForInitialization() throws InterruptedException {
        Initializer first = new Initializer();
        first.start();
        Actor.await(() -> first.isIn);
        Thread second = new Thread(() -> count += Slow.MADE, "initialized");
        second.start();
        // The JVM shows it in various states, so it is not known when it has begun to wait.
        for (int looks = 0; looks < 1000; looks++) {
            Thread.yield();
        }
        first.released = true;
        first.join();
        second.join();
    }

    public static void main(String[] args) throws InterruptedException {
        Account.begin();
        ClassLocks it = new ClassLocks();
        count += Other.count;
        for (int turn = 0; turn < 2; turn++) {
            Account.contend(it::instanceCalls, it::instanceCalls);
            Account.contend(it::instanceReads, it::instanceReads);
            Account.contend(it::instanceMakes, it::instanceMakes);
            Account.contend(ClassLocks::staticCalls, ClassLocks::staticCalls);
            Account.contend(ClassLocks::getInstance, ClassLocks::getInstance);
            Account.contend(ClassLocks::staticMakes, ClassLocks::staticMakes);
            Account.contend(ClassLocks::literal, ClassLocks::literal);
        }
        waitForInitialization();
        Account.end();
    }
}
