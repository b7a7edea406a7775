package tyrion.truth;

import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code sole-instances}: places at which two threads, one after the other, take always the same
 * lock, and places at which one takes two. Each place is a method of its own.
 */
final class SoleInstances implements Scenario {
    private static final int TIMES = 300;

    private final Object one = new Object();
    private final Object two = new Object();
    private final Counter counter = new Counter();
    private final ReentrantLock lock = new ReentrantLock();
    private long taken;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        for (String name : Arrays.asList("first", "second")) {
            Thread thread = Threads.start(name, this::take);
            Threads.join(thread);
            // What gets its identity only when nobody holds it.
            Thread.sleep(100);
        }
        report.put("class", SoleInstances.class.getName())
                .put("one", System.identityHashCode(one))
                .put("counter", System.identityHashCode(counter))
                .put("taken", taken);
    }

    private void take() {
        for (int i = 0; i < TIMES; i++) {
            sole(one);
            within(one);
            either(i % 2 == 0 ? one : two);
            counter.add();
            fresh(new Object());
            sometimesWithin(i % 2 == 0);
            ofLock();
        }
    }

    private void sole(Object object) {
        synchronized (object) {
            taken++;
        }
    }

    private void either(Object object) {
        synchronized (object) {
            taken++;
        }
    }

    private void fresh(Object object) {
        synchronized (object) {
            taken++;
        }
    }

    private void ofLock() {
        lock.lock();
        try {
            taken++;
        } finally {
            lock.unlock();
        }
    }

    /** Taken within itself alone. */
    private void within(Object object) {
        synchronized (object) {
            again(object);
        }
    }

    private void again(Object object) {
        synchronized (object) {
            taken++;
        }
    }

    /** One by itself, the other one within itself alone. */
    private void sometimesWithin(boolean isWithin) {
        if (isWithin) {
            synchronized (one) {
                eitherAgain(one);
            }
        } else {
            eitherAgain(two);
        }
    }

    private void eitherAgain(Object object) {
        synchronized (object) {
            taken++;
        }
    }

    /** Its monitor is taken by methods alone. */
    private static final class Counter {
        private long count;

        synchronized void add() {
            count++;
            more();
        }

        synchronized void more() {
            count++;
        }
    }
}
