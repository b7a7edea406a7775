package tyrion.truth;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tyrion.support.Json;

/**
 * {@code outlast SECONDS}: threads "waiter-monitor", "waiter-lock", "waiter-write" and
 * "waiter-semaphore" wait SECONDS for what "holder-…" hold, while a storm of waits goes on beside
 * them: the four long waits outlast any number of log files. Each waits once.
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

        Map<String, Waiter> waiters = new LinkedHashMap<>();
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, HolderAndWaiter> kind : kinds.entrySet()) {
            Holder holder = new Holder(seconds * 1000L, kind.getValue());
            Waiter waiter = new Waiter(kind.getValue());
            threads.add(Threads.start("holder-" + kind.getKey(), holder));
            holder.awaitHeld();
            threads.add(Threads.start("waiter-" + kind.getKey(), waiter));
            waiters.put(kind.getKey(), waiter);
        }
        Json storm = new Json();
        String[] longer = {String.valueOf(seconds + 1), "monitor"};
        new Storm().run(new Arguments(longer), storm);
        Threads.join(threads);
        for (Map.Entry<String, Waiter> waiter : waiters.entrySet()) {
            report.put(waiter.getKey() + "_wait_ns", waiter.getValue().waitNanos());
        }
    }
}
