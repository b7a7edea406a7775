package tyrion.truth;

import tyrion.support.Json;

/**
 * {@code held-across SECONDS}: thread "keeper" holds a monitor for SECONDS, and enters it again and
 * again meanwhile, while a storm of waits goes on beside it: the monitor is held across any number
 * of log files. Then it takes the monitor another 100 times, one after the other.
 */
final class HeldAcross implements Scenario {
    private static final int AFTERWARDS = 100;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int seconds = arguments.number(0, 3);
        Vault vault = new Vault();
        Thread keeper = Threads.start("keeper", () -> {
            vault.keep(seconds * 1000L);
            for (int i = 0; i < AFTERWARDS; i++) {
                vault.visit();
            }
        });
        String[] longer = {String.valueOf(seconds + 1), "monitor"};
        new Storm().run(new Arguments(longer), new Json());
        Threads.join(keeper);
        report.put("reentrant", vault.looks).put("acquisitions", 1 + AFTERWARDS);
    }

    private static final class Vault {
        private long looks;

        synchronized void keep(long millis) {
            long end = System.nanoTime() + millis * 1_000_000;
            while (System.nanoTime() < end) {
                Threads.sleepMillis(1);
                look();
            }
        }

        synchronized void look() {
            looks++;
        }

        synchronized void visit() {}
    }
}
