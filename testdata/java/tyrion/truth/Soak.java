package tyrion.truth;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code soak [MILLIS]}: goes on until its stdin ends. Threads contend for a monitor and a lock, hand
 * work over, and wait for each other; threads and class loaders come and go, each so many
 * milliseconds (250 if not given). The line {@code check NAME
 * N} on stdin makes thread NAME wait N times for the monitor of a {@link Vault} and take one many
 * times without waiting; the truth of it comes as a line of JSON on stdout. The line {@code collect}
 * has the JVM unload the classes that are gone, and is answered by an empty line.
 */
final class Soak implements Scenario {
    /** The class of the locks that a check takes, for a filter to name. */
    static final class Vault {}

    private static final int CONTENDERS = 4;
    private static final long CHECKED_WAIT_MILLIS = 20;
    private static final int CHECKED_ACQUISITIONS = 20_000;

    private final Object monitor = new Object();
    private final ReentrantLock lock = new ReentrantLock();
    private volatile boolean isOver;
    private long shared;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        for (int i = 0; i < CONTENDERS; i++) {
            Threads.start("contender-" + i, this::contend);
        }
        Threads.start("turnover", new Turnover(() -> isOver, arguments.number(0, 250)));
        System.out.println("soaking");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        int checks = 0;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (line.equals("collect")) {
                System.gc();
                System.out.println();
                continue;
            }
            String[] words = line.split(" ");
            System.out.println(check(words[1], Integer.parseInt(words[2])));
            checks++;
        }
        isOver = true;
        report.put("checks", checks);
    }

    /** Takes both locks again and again, keeps them a little, and rests so that others get CPU. */
    private void contend() {
        while (!isOver) {
            for (int i = 0; i < 50; i++) {
                synchronized (monitor) {
                    work(200);
                }
                lock.lock();
                try {
                    work(200);
                } finally {
                    lock.unlock();
                }
            }
            Threads.sleepMillis(5);
        }
    }

    private void work(int steps) {
        for (int i = 0; i < steps; i++) {
            shared = shared * 31 + i;
        }
    }

    private static Json check(String name, int waits) throws InterruptedException {
        long leastNanos = 0;
        long waitNanos = 0;
        for (int i = 0; i < waits; i++) {
            CheckedVault vault = new CheckedVault();
            Waiter waiter = new Waiter(vault);
            leastNanos += Encounter.stage(
                    new Holder(vault),
                    Threads.named(name + "-holder"),
                    CHECKED_WAIT_MILLIS,
                    waiter,
                    Threads.named(name));
            waitNanos += waiter.waitNanos();
        }
        Threads.join(Threads.start(name, new CheckedVault()::takeOften));
        return new Json()
                .put("contentions", waits)
                .put("least_ns", leastNanos)
                .put("wait_ns", waitNanos)
                .put("acquisitions", waits + CHECKED_ACQUISITIONS);
    }

    /** A lock that is taken as often as a check says. */
    private static final class CheckedVault implements Holder.Taking, Waiter.Asking {
        private final Vault vault = new Vault();
        private long taken;

        @Override
        public void holderTakes(Runnable whileHeld) {
            synchronized (vault) {
                whileHeld.run();
            }
        }

        @Override
        public long waiterTakes() {
            long asked = System.nanoTime();
            synchronized (vault) {
                return System.nanoTime() - asked;
            }
        }

        void takeOften() {
            for (int i = 0; i < CHECKED_ACQUISITIONS; i++) {
                synchronized (vault) {
                    taken++;
                }
            }
        }
    }
}
