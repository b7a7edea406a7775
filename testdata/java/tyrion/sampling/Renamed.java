package tyrion.sampling;

import tyrion.support.Json;

/**
 * Threads whose names change: one computes as "fresh", as "http-1" and as "gone"; another one sleeps,
 * and is called "http-2" by somebody else meanwhile, and then something else. The last line on stdout
 * is one JSON object: how long they had which name.
 *
 * <p>Usage: {@code java tyrion.sampling.Renamed [MILLIS]}, default 1000.
 */
public final class Renamed {
    private Renamed() {}

    public static void main(String[] args) throws InterruptedException {
        int millis = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        Thread sleeper = new Sleeper(4 * millis);
        sleeper.start();
        Busy busy = new Busy(millis);
        busy.start();
        Thread.sleep(millis);
        long begin = System.nanoTime();
        sleeper.setName("http-2");
        Thread.sleep(millis);
        sleeper.setName("asleep again");
        long end = System.nanoTime();
        busy.join();
        sleeper.join();
        System.out.println(new Json().put("http_1_ns", busy.namedNanos).put("http_2_ns", end - begin));
    }

    /** Gives itself names. */
    private static final class Busy extends Thread {
        private final int millis;
        private long namedNanos;

        Busy(int millis) {
            super("fresh");
            this.millis = millis;
        }

        @Override
        public void run() {
            Cpu.burn(millis / 2);
            setName("http-1");
            long begin = System.nanoTime();
            Cpu.burn(millis);
            namedNanos = System.nanoTime() - begin;
            setName("gone");
            Cpu.burn(millis / 2);
        }
    }

    /** Does nothing. */
    private static final class Sleeper extends Thread {
        private final int millis;

        Sleeper(int millis) {
            super("asleep");
            this.millis = millis;
        }

        @Override
        public void run() {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
