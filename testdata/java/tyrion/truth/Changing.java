package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code changing FOLDER STEPS [RACERS]}: a thread "worker" works in STEPS steps, each of which
 * begins once a file of its number, from 1 on, is in the folder, and prints its number when it is
 * over. In each it takes the lock of a block, of a method and of java.util.concurrent, in a class
 * each, TIMES times in {@code once}, and then all three in {@code keep}. These it holds until the
 * next step begins, or the program may end; then it takes each of them once more, in
 * {@code again}, before it releases them.
 *
 * <p>From the first step to the end, RACERS threads "racer" take the monitor of the class Raced in
 * {@code race}: {@code raced} says how often in all, and {@code raced_again} how often they took it
 * once more. Its other lock they take as often.
 */
final class Changing implements Scenario {
    private static final int TIMES = 20_480;

    private final Block block = new Block();
    private final Method method = new Method();
    private final Lock lock = new Lock();
    private final AtomicLong raced = new AtomicLong();
    private final AtomicLong racedAgain = new AtomicLong();
    private volatile boolean done;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Path folder = Paths.get(arguments.text(0, "."));
        int steps = arguments.number(1, 1);
        int racers = arguments.number(2, 0);
        Thread worker = Threads.start("worker", () -> {
            for (int step = 1; step <= steps; step++) {
                work(folder, step);
            }
        });
        System.out.println("ready");
        await(folder, 1);
        List<Thread> racing = new ArrayList<>();
        for (int i = 0; i < racers; i++) {
            racing.add(Threads.start("racer", this::race));
        }
        Threads.join(worker);
        done = true;
        Threads.join(racing);
        report.put("times", TIMES).put("raced", raced.get()).put("raced_again", racedAgain.get());
    }

    private void work(Path folder, int step) {
        await(folder, step);
        for (int i = 0; i < TIMES; i++) {
            block.once();
            method.once();
            lock.once();
        }
        block.keep(() -> method.keep(() -> lock.keep(() -> {
            System.out.println(step);
            System.out.flush();
            await(folder, step + 1);
            block.again();
            method.again();
            lock.again();
        })));
    }

    private static void await(Path folder, int step) {
        while (!Files.exists(folder.resolve(Integer.toString(step)))) {
            Threads.sleepMillis(5);
        }
    }

    private void race() {
        Raced own = new Raced();
        while (!done) {
            for (int i = 0; i < 200; i++) {
                own.race();
            }
            // Else what they record in a second would fill the disk.
            Threads.sleepMillis(1);
        }
        raced.addAndGet(own.times);
        racedAgain.addAndGet(own.timesAgain);
    }

    private static final class Block {
        private final Object own = new Object();

        private void once() {
            synchronized (own) {
                Older.onSpinWait();
            }
        }

        private void keep(Runnable meanwhile) {
            synchronized (own) {
                meanwhile.run();
            }
        }

        private void again() {
            synchronized (own) {
                Older.onSpinWait();
            }
        }
    }

    private static final class Method {
        private synchronized void once() {
            Older.onSpinWait();
        }

        private synchronized void keep(Runnable meanwhile) {
            meanwhile.run();
        }

        private synchronized void again() {
            Older.onSpinWait();
        }
    }

    private static final class Lock {
        private final ReentrantLock own = new ReentrantLock();

        private void once() {
            own.lock();
            own.unlock();
        }

        private void keep(Runnable meanwhile) {
            own.lock();
            try {
                meanwhile.run();
            } finally {
                own.unlock();
            }
        }

        private void again() {
            own.lock();
            own.unlock();
        }
    }

    /** Of one thread each: nothing is lost, however many there are. */
    private static final class Raced {
        private final Object own = new Object();
        private final ReentrantLock other = new ReentrantLock();
        private long times;
        private long timesAgain;

        private void race() {
            synchronized (own) {
                times++;
                if (times % 16 == 0) {
                    again();
                }
            }
            other.lock();
            other.unlock();
        }

        private void again() {
            synchronized (own) {
                timesAgain++;
            }
        }
    }
}
