package tyrion.whatif;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import tyrion.support.Json;

/**
 * Programs that have a lock, and the same programs after something was done about it: what {@code
 * tyrion whatif} predicts from the first can be measured with the second.
 *
 * <p>Usage: {@code java tyrion.whatif.WhatIf PROGRAM before|after [SECONDS [WARMUP]]}, defaults 3
 * and 1. Prints one JSON object. With {@code -Dwhatif.operations=N} each thread does N operations,
 * however long that takes.
 */
public final class WhatIf {
    private static final Map<String, Function<Boolean, Program>> PROGRAMS = new TreeMap<>();

    static {
        PROGRAMS.put("ledger", Ledger::new);
        PROGRAMS.put("stock", Stock::new);
        PROGRAMS.put("journal", Journal::new);
        PROGRAMS.put("catalog", Catalog::new);
        PROGRAMS.put("disk", Disk::new);
        PROGRAMS.put("gate", Gate::new);
        PROGRAMS.put("chain", Chain::new);
        PROGRAMS.put("crowd", Crowd::new);
        PROGRAMS.put("market", Market::new);
        PROGRAMS.put("sessions", Sessions::new);
        PROGRAMS.put("pair", Pair::new);
    }

    /** A thread that does operations until it is told to stop. */
    private static final class Worker implements Runnable {
        private final Program program;
        private final Work work;
        private final AtomicBoolean stopping;
        private final long most;
        private volatile long operations;

        Worker(Program program, int seed, long most, AtomicBoolean stopping) {
            this.program = program;
            this.work = new Work(seed * 7919L);
            this.most = most;
            this.stopping = stopping;
        }

        @Override
        public void run() {
            try {
                long done = 0;
                while (!stopping.get() && done < most) {
                    program.step(work);
                    operations = ++done;
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private WhatIf() {}

    public static void main(String[] args) throws Exception {
        Function<Boolean, Program> maker = args.length < 2 ? null : PROGRAMS.get(args[0]);
        if (maker == null || !(args[1].equals("before") || args[1].equals("after"))) {
            System.err.println("usage: WhatIf PROGRAM before|after [SECONDS [WARMUP]], of "
                    + String.join(", ", PROGRAMS.keySet()));
            System.exit(2);
            return;
        }
        double seconds = args.length > 2 ? Double.parseDouble(args[2]) : 3;
        double warmupSeconds = args.length > 3 ? Double.parseDouble(args[3]) : 1;
        Program program = maker.apply(args[1].equals("after"));
        System.out.println(run(program, seconds, warmupSeconds)
                .put("program", args[0])
                .put("variant", args[1]));
    }

    private static Json run(Program program, double seconds, double warmupSeconds)
            throws InterruptedException {
        AtomicBoolean stopping = new AtomicBoolean();
        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        long counted = Long.getLong("whatif.operations", 0);
        long most = counted == 0 ? Long.MAX_VALUE : counted;
        for (int i = 1; i <= program.threads(); i++) {
            Worker worker = new Worker(program, i, most, stopping);
            workers.add(worker);
            threads.add(new Thread(worker, "worker-" + i));
        }
        threads.forEach(Thread::start);
        if (counted != 0) {
            join(threads);
        }
        Thread.sleep((long) (warmupSeconds * 1000));
        long before = operations(workers);
        long begin = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        long operations = operations(workers) - before;
        long nanos = System.nanoTime() - begin;
        stopping.set(true);
        join(threads);
        long result = 0;
        for (Worker worker : workers) {
            result ^= worker.work.result();
        }
        return new Json()
                .put("threads", workers.size())
                .put("operations", operations)
                .put("per_second", operations * 1e9 / nanos)
                .put("result", result);
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static long operations(List<Worker> workers) {
        return workers.stream().mapToLong(worker -> worker.operations).sum();
    }
}
