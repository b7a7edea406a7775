package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import tyrion.support.Json;

/**
 * Threads whose names are hard: renamed before or after their wait, the same name twice, no name,
 * names with separators, quotes, a line break and letters beyond ASCII; daemons and thread groups.
 * Each waits once for one monitor, for 30 ms or more, held by "names-holder".
 */
final class Names implements Scenario {
    private static final long WAIT_MILLIS = 30;

    private final Guard guard = Guard.of("monitor");
    private final List<Json> threads = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        ThreadGroup night = new ThreadGroup("night-shift");
        ThreadGroup day = new ThreadGroup(night, "day-shift");

        waitOnce(Threads.named("early-name"), () -> renamed("late-name", guard.waiterTakes()));
        waitOnce(Threads.named("old-name"), this::renameThenWait);
        waitOnce(body -> daemon(new Thread(night, body, "night-clerk")), guard);
        waitOnce(body -> new Thread(day, body, "day-clerk"), guard);
        waitOnce(Threads.named("twin"), guard);
        waitOnce(Threads.named("twin"), guard);
        waitOnce(Threads.named(""), guard);
        waitOnce(Threads.named("semi;colon \"quoted\" back\\slash (1)"), guard);
        waitOnce(Threads.named("line\nbreak"), guard);
        waitOnce(Threads.named("\u00fcml\u00e4ut \u2192 \ud83d\ude42 7"), guard);

        report.put("contentions", threads.size()).put("threads", threads);
    }

    private long renameThenWait() {
        return renamed("new-name", 0) + guard.waiterTakes();
    }

    private static long renamed(String name, long waitNanos) {
        Thread.currentThread().setName(name);
        return waitNanos;
    }

    private static Thread daemon(Thread thread) {
        thread.setDaemon(true);
        return thread;
    }

    private void waitOnce(ThreadFactory factory, Waiter.Asking asking) throws InterruptedException {
        Waiter waiter = new Waiter(asking);
        Thread[] made = new Thread[1];
        String[] first = new String[2];
        Encounter.stage(
                new Holder(guard),
                Threads.named("names-holder"),
                WAIT_MILLIS,
                waiter,
                body -> {
                    made[0] = factory.newThread(body);
                    first[0] = made[0].getName();
                    first[1] = made[0].getThreadGroup().getName();
                    return made[0];
                });
        threads.add(new Json()
                .put("first_name", first[0])
                .put("last_name", made[0].getName())
                .put("group", first[1])
                .put("daemon", made[0].isDaemon())
                .put("wait_ns", waiter.waitNanos()));
    }
}
