package tyrion.truth;

import tyrion.support.Json;

/**
 * A thread that comes to no safepoint for seconds at a time, so that whatever the JVM does at one
 * takes as long: {@code unsafepoint SECONDS} runs a loop whose compiled code asks for none, which
 * needs {@code -XX:+UseSerialGC}. Prints "looping" before.
 */
final class Unsafepoint implements Scenario {
    /** How long the loop is to take, in ns. */
    private static final long LENGTH_NS = 5_000_000_000L;

    private long sum;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        long seconds = arguments.number(0, 60);
        // So often that the loop is compiled, and it is known how long it takes.
        int count = 1_000_000;
        long tookNs = 1;
        for (int time = 0; time < 100; time++) {
            long begin = System.nanoTime();
            sum += divide(count);
            tookNs = Math.max(1, System.nanoTime() - begin);
        }
        int times = (int) Math.min(Integer.MAX_VALUE - 1, count * (LENGTH_NS / (double) tookNs));
        System.out.println("looping");
        System.out.flush();
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (System.nanoTime() < end) {
            sum += divide(times);
        }
        report.put("sum", sum);
    }

    /** Divisions take long, and none can be left out. */
    private static long divide(int times) {
        long value = Long.MAX_VALUE;
        for (int i = 1; i <= times; i++) {
            value = (value ^ i) / (i & 7 | 1) + Long.MAX_VALUE / 3;
            value = (value ^ i) / (i & 15 | 1) + Long.MAX_VALUE / 3;
        }
        return value;
    }
}
