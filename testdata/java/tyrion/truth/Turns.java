package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import tyrion.support.Json;

/**
 * {@code turns [KIND [MILLIS [LONG [SHORT]]]]}: one thread holds a lock in turns for LONG
 * microseconds, in {@code guiltyHolder}, and for SHORT, in {@code accompliceHolder}, so as often in
 * the one as in the other. Two threads want it again and again, for nothing. KIND: as of {@link
 * Blame}.
 */
final class Turns implements Scenario {
    private volatile boolean stopping;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Blamed blamed = Blamed.of(arguments.text(0, "block"));
        long nanos = arguments.number(1, 1000) * 1_000_000L;
        long longNanos = arguments.number(2, 120) * 1_000L;
        long shortNanos = arguments.number(3, 12) * 1_000L;
        List<Thread> waiters = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            waiters.add(Threads.start("innocent-" + i, () -> {
                while (!stopping) {
                    blamed.innocentWaiter();
                }
            }));
        }
        long[] held = new long[2];
        Thread holder = Threads.start("holder", () -> {
            long until = System.nanoTime() + nanos;
            while (System.nanoTime() < until) {
                blamed.guiltyHolder(() -> held[0] += busy(longNanos));
                blamed.accompliceHolder(() -> held[1] += busy(shortNanos));
            }
        });
        holder.join();
        stopping = true;
        Threads.join(waiters);
        report.put("class", blamed.getClass().getName())
                .put("guilty_ns", held[0])
                .put("accomplice_ns", held[1]);
    }

    private static long busy(long nanos) {
        long begun = System.nanoTime();
        long now = begun;
        while (now - begun < nanos) {
            now = System.nanoTime();
        }
        return now - begun;
    }
}
