package tyrion.truth;

import tyrion.api.Tyrion;
import tyrion.support.Json;

/**
 * {@code sampled-block [MILLIS]}: thread "main" computes before, within and after a block that is
 * sampled every 10 ms, and waits in it for as long as it computes.
 */
final class SampledBlock implements Scenario {
    private double result = 1;

    @Override
    @SuppressWarnings("try")
    public void run(Arguments arguments, Json report) {
        long millis = arguments.number(0, 400);
        compute(millis / 2);
        try (Tyrion.Sampling sampling = Tyrion.sampling("import", 10)) {
            long begin = System.nanoTime();
            compute(millis);
            Threads.sleepMillis(millis);
            report.put("block_ns", System.nanoTime() - begin);
        }
        compute(millis / 2);
        try (Tyrion.Sampling none = Tyrion.sampling(null, -1)) {
            report.put("present", Tyrion.present());
        }
        report.put("result", result);
    }

    private void compute(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                result = Math.sqrt(result + i);
            }
        }
    }
}
