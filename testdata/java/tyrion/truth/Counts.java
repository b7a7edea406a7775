package tyrion.truth;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import tyrion.support.Json;

/**
 * {@code counts [THREADS [ROUNDS [KIND...]]]}: THREADS threads take one lock, ROUNDS times in all,
 * and so with each kind of lock, one after the other. Every round is written down by its thread:
 * what a profiler counts must be equal to the last one.
 *
 * <p>In {@code kinds} stand, for each kind, the class whose methods take the lock, and what each
 * thread did: acquisitions (outermost), reentrant ones, and attempts that failed or timed out.
 * {@code -Dtruth.go=FILE}: see {@link Go}. {@code -Dtruth.virtual=true}: virtual threads.
 */
final class Counts implements Scenario {
    private static final Map<String, Supplier<Counted>> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put("block", CountedBlock::new);
        KINDS.put("method", CountedMethod::new);
        KINDS.put("static", CountedStatic::new);
        KINDS.put("thrown", CountedThrown::new);
        KINDS.put("waits", CountedWaits::new);
        KINDS.put("lock", CountedLock::new);
        KINDS.put("chain", CountedChain::new);
        KINDS.put("await", CountedAwait::new);
        KINDS.put("read", CountedRead::new);
        KINDS.put("write", CountedWrite::new);
        KINDS.put("stamped-read", CountedStampedRead::new);
        KINDS.put("stamped-write", CountedStampedWrite::new);
        KINDS.put("semaphore", CountedSemaphore::new);
    }

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int threadCount = arguments.number(0, 4);
        int rounds = arguments.number(1, 3_000_000 / KINDS.size());
        List<String> wanted = Arrays.asList(arguments.from(2));
        boolean virtual = Boolean.getBoolean("truth.virtual");
        if (virtual) {
            VirtualThreads.require();
        }
        Go.await();

        List<Json> kinds = new ArrayList<>();
        long acquisitions = 0;
        for (Map.Entry<String, Supplier<Counted>> kind : KINDS.entrySet()) {
            if (wanted.isEmpty() || wanted.contains(kind.getKey())) {
                Counted counted = kind.getValue().get();
                counted.count(kind.getKey(), threadCount, rounds, virtual);
                acquisitions += counted.acquisitions();
                kinds.add(counted.report(kind.getKey()));
            }
        }
        report.put("threads", threadCount)
                .put("rounds", rounds)
                .put("acquisitions", acquisitions)
                .put("kinds", kinds);
    }
}
