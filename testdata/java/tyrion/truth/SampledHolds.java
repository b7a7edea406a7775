package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code sampled-holds}: very many short holds of known lengths, for a profiler that measures some
 * of them and estimates the rest: always 3 µs, always 20 µs, of random lengths, and with a period
 * on purpose, every 64th twenty times as long as the others. Reported as in {@link Holds}.
 */
final class SampledHolds implements Scenario {
    private static final int PERIOD = 64;
    private static final long DISTURBED_NANOS = 300_000;

    /** How long to hold the lock, of the n-th time. */
    private interface Length {
        long nanos(int number);
    }

    @Override
    public void run(Arguments arguments, Json report) {
        SplittableRandom random = new SplittableRandom(64);
        List<Json> measured = new ArrayList<>();
        measured.add(measure(new AlwaysShort(), 150_000, number -> 3_000));
        measured.add(measure(new AlwaysLong(), 25_000, number -> 20_000));
        measured.add(measure(
                new AtRandom(), 100_000,
                number -> 1_000 + (long) (-4_000 * Math.log(1 - random.nextDouble()))));
        measured.add(measure(
                new Periodic(), 256_000, number -> number % PERIOD == 0 ? 40_000 : 2_000));
        measured.add(measure(new Lock(), 100_000, number -> 5_000));
        report.put("sites", measured);
    }

    private static Json measure(Site site, int times, Length length) {
        String name = "sampled-" + site.getClass().getSimpleName().toLowerCase();
        Threads.join(Threads.start(name, () -> {
            for (int i = 0; i < times; i++) {
                site.once(length.nanos(i));
            }
        }));
        return site.holding.report(site);
    }

    /** Where a lock is taken and held. */
    private abstract static class Site {
        final Holding holding = new Holding(getClass().getSimpleName(), DISTURBED_NANOS);

        abstract void once(long nanos);

        final void hold(long nanos) {
            holding.begin();
            Holding.keep(nanos);
            holding.end();
        }
    }

    private static final class AlwaysShort extends Site {
        @Override
        void once(long nanos) {
            synchronized (this) {
                hold(nanos);
            }
        }
    }

    private static final class AlwaysLong extends Site {
        @Override
        synchronized void once(long nanos) {
            hold(nanos);
        }
    }

    private static final class AtRandom extends Site {
        @Override
        void once(long nanos) {
            synchronized (this) {
                hold(nanos);
            }
        }
    }

    private static final class Periodic extends Site {
        @Override
        void once(long nanos) {
            synchronized (this) {
                hold(nanos);
            }
        }
    }

    private static final class Lock extends Site {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void once(long nanos) {
            lock.lock();
            try {
                hold(nanos);
            } finally {
                lock.unlock();
            }
        }
    }
}
