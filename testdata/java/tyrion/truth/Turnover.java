package tyrion.truth;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import tyrion.support.Older;

/**
 * Threads and class loaders that come and go: again and again, ten threads run a class that a
 * loader of its own has defined. They contend for a monitor of that class, and take from a queue.
 * No two threads have the same name.
 */
final class Turnover implements Runnable {
    private static final int THREADS = 10;

    private final BooleanSupplier isOver;
    private final long periodMillis;
    private long started;

    Turnover(BooleanSupplier isOver, long periodMillis) {
        this.isOver = isOver;
        this.periodMillis = periodMillis;
    }

    @Override
    public void run() {
        while (!isOver.getAsBoolean()) {
            try {
                once();
                Thread.sleep(periodMillis);
            } catch (ReflectiveOperationException | IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private void once()
            throws ReflectiveOperationException, IOException, InterruptedException {
        Class<?> type = new Loader().define();
        CountDownLatch all = new CountDownLatch(THREADS);
        LinkedBlockingQueue<String> work = new LinkedBlockingQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Constructor<?> body = type.getDeclaredConstructor(CountDownLatch.class, LinkedBlockingQueue.class);
            started++;
            threads.add(Threads.start("guest-" + started, (Runnable) body.newInstance(all, work)));
        }
        all.await();
        for (int i = 0; i < THREADS; i++) {
            work.add("done");
        }
        Threads.join(threads);
    }

    /** Defines {@link Guest} anew. */
    private static final class Loader extends ClassLoader {
        Loader() {
            super(Turnover.class.getClassLoader());
        }

        Class<?> define() throws IOException {
            String file = Guest.class.getName().replace('.', '/') + ".class";
            try (InputStream in = Turnover.class.getClassLoader().getResourceAsStream(file)) {
                byte[] bytes = Older.readAll(in);
                return defineClass(Guest.class.getName(), bytes, 0, bytes.length);
            }
        }
    }

    /** What the threads run. Public, as another loader's class is of another package. */
    public static final class Guest implements Runnable {
        private static long turns;

        private final CountDownLatch all;
        private final LinkedBlockingQueue<String> work;

        public Guest(CountDownLatch all, LinkedBlockingQueue<String> work) {
            this.all = all;
            this.work = work;
        }

        @Override
        public void run() {
            all.countDown();
            for (int i = 0; i < 20; i++) {
                takeTurn();
            }
            try {
                work.poll(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static synchronized void takeTurn() {
            for (int i = 0; i < 2000; i++) {
                turns = turns * 31 + i;
            }
        }
    }
}
