package tyrion.support;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * At what rate the threads of a program begin operations, and how long these take, counted from
 * when each was due: an operation that begins late, since those before it took long, has that in
 * its time, too. Without a rate threads go on as fast as they can, and nothing is counted.
 */
public final class Pace {
    /** Buckets for each doubling of a duration: values are right to 1.6 %. */
    private static final int STEPS = 64;

    private static final int STEP_BITS = 6;
    private static final AtomicLongArray BUCKETS = new AtomicLongArray(64 * STEPS);

    /** One rate and when it began. */
    private static final class Rate {
        final double perSecond;
        final long sinceNanos = System.nanoTime();

        Rate(double perSecond) {
            this.perSecond = perSecond;
        }
    }

    private static volatile Rate rate = new Rate(0);

    private Pace() {}

    /** From now on so many operations begin in a second, of all threads together; 0: all that can. */
    public static void set(double perSecond) {
        rate = new Rate(perSecond);
    }

    /** What one of so many threads keeps to. */
    public static Turns turns(int thread, int threads) {
        return new Turns(thread, threads);
    }

    /** Forgets what was counted. */
    static void reset() {
        for (int i = 0; i < BUCKETS.length(); i++) {
            BUCKETS.set(i, 0);
        }
    }

    /** The durations in ns that these shares of all operations did not exceed; 0 without any. */
    static long[] quantiles(double... shares) {
        long total = 0;
        for (int i = 0; i < BUCKETS.length(); i++) {
            total += BUCKETS.get(i);
        }
        long[] found = new long[shares.length];
        for (int nth = 0; nth < shares.length; nth++) {
            long wanted = (long) Math.ceil(shares[nth] * total);
            long seen = 0;
            for (int i = 0; i < BUCKETS.length() && seen < wanted; i++) {
                seen += BUCKETS.get(i);
                found[nth] = upperNanos(i);
            }
        }
        return found;
    }

    /** Counts an operation that was due at this time and has ended now. */
    public static void ended(long dueNanos) {
        BUCKETS.incrementAndGet(bucket(System.nanoTime() - dueNanos));
    }

    private static int bucket(long nanos) {
        long value = Math.max(nanos, 0);
        int shift = Math.max(0, 63 - Long.numberOfLeadingZeros(value | 1) - STEP_BITS);
        return shift * STEPS + (int) (value >>> shift);
    }

    private static long upperNanos(int bucket) {
        int shift = Math.max(0, bucket / STEPS - 1);
        return (bucket - (long) shift * STEPS + 1) << shift;
    }

    /** The turns of a thread; used by that one alone. */
    public static final class Turns {
        private final int thread;
        private final int threads;
        private Rate kept;
        private long nth;
        private long dueNanos;

        private Turns(int thread, int threads) {
            this.thread = thread;
            this.threads = threads;
        }

        /** Waits until the next operation is due; when that was, or 0 without a rate. */
        public long await() {
            Rate now = rate;
            if (now.perSecond == 0) {
                dueNanos = 0;
                return 0;
            }
            if (now != kept) {
                kept = now;
                nth = 0;
            }
            double betweenNanos = 1e9 / now.perSecond;
            dueNanos = now.sinceNanos + (long) ((nth++ * threads + thread) * betweenNanos);
            for (long left; (left = dueNanos - System.nanoTime()) > 0; ) {
                LockSupport.parkNanos(this, left);
            }
            return dueNanos;
        }

        /** The operation that was due has ended. */
        public void done() {
            if (dueNanos != 0) {
                ended(dueNanos);
            }
        }
    }
}
