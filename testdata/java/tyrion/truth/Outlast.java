package tyrion.truth;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tyrion.support.Json;

/**
 * {@code outlast SECONDS}: threads "waiter-monitor", "waiter-lock", "waiter-write" and
 * "waiter-semaphore" wait SECONDS for what "holder-…" hold, while a storm of waits goes on beside
 * them: the four long waits outlast any number of log files. Each waits once,
 * between {@code …_least_ns} and {@code …_wait_ns}.
 */
final class Outlast implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int seconds = arguments.number(0, 3);
        Map<String, HolderAndWaiter> kinds = new LinkedHashMap<>();
        kinds.put("monitor", new HolderMonitor());
        kinds.put("lock", new HolderLock());
        kinds.put("write", new HolderWrite());
        kinds.put("semaphore", new HolderSemaphore());

        Map<String, Holder> holders = new LinkedHashMap<>();
        Map<String, Waiter> waiters = new LinkedHashMap<>();
        Map<String, Long> waitingSince = new LinkedHashMap<>();
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, HolderAndWaiter> kind : kinds.entrySet()) {
            Holder holder = new Holder(seconds * 1000L, kind.getValue());
            Waiter waiter = new Waiter(kind.getValue());
            threads.add(Threads.start("holder-" + kind.getKey(), holder));
            holder.awaitHeld();
            Thread waiting = Threads.start("waiter-" + kind.getKey(), waiter);
            waitingSince.put(kind.getKey(), Threads.awaitWaiting(waiting));
            threads.add(waiting);
            holder.leave();
            holders.put(kind.getKey(), holder);
            waiters.put(kind.getKey(), waiter);
        }
        Json storm = new Json();
        String[] longer = {String.valueOf(seconds + 1), "monitor"};
        new Storm().run(new Arguments(longer), storm);
        Threads.join(threads);
        for (String kind : kinds.keySet()) {
            long leastNanos = holders.get(kind).leavingNanos() - waitingSince.get(kind);
            report.put(kind + "_least_ns", leastNanos)
                    .put(kind + "_wait_ns", waiters.get(kind).waitNanos());
        }
    }
}
