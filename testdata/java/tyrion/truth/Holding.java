package tyrion.truth;

import tyrion.support.Json;
import tyrion.support.Older;

/**
 * Measures how long a lock is held, right inside of it, and holds it for a time that it is told. One
 * thread uses it at a time.
 */
final class Holding {
    private final String name;
    private final long outlierNanos;
    private long begunAt;
    private long heldNanos;
    private long count;
    private long sumNanos;
    private long maxNanos;
    private long outliers;
    private long outliersNanos;
    private double sumOfSquares;

    /** Holds above a limit are disturbed ones, and are told apart. */
    Holding(String name, long outlierNanos) {
        this.name = name;
        this.outlierNanos = outlierNanos;
    }

    /** The lock was taken. */
    void begin() {
        heldNanos = 0;
        begunAt = System.nanoTime();
    }

    /** Keeps the lock, busily. */
    static void keep(long nanos) {
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end) {
            Older.onSpinWait();
        }
    }

    /** The lock is given up for a while. */
    void pause() {
        heldNanos += System.nanoTime() - begunAt;
    }

    /** The lock is there again. */
    void resume() {
        begunAt = System.nanoTime();
    }

    /** The lock is given back. */
    void end() {
        pause();
        count++;
        sumNanos += heldNanos;
        maxNanos = Math.max(maxNanos, heldNanos);
        if (heldNanos > outlierNanos) {
            outliers++;
            outliersNanos += heldNanos;
        } else {
            sumOfSquares += (double) heldNanos * heldNanos;
        }
    }

    /**
     * With the coefficient of variation, in thousandths, of all but the outliers: it tells how far
     * an estimate from a sample may be off.
     */
    Json report(Object site) {
        long usual = Math.max(1, count - outliers);
        double mean = (double) (sumNanos - outliersNanos) / usual;
        double variance = Math.max(0, sumOfSquares / usual - mean * mean);
        return new Json()
                .put("site", name)
                .put("class", site.getClass().getName())
                .put("count", count)
                .put("hold_ns", sumNanos)
                .put("max_ns", maxNanos)
                .put("variation_permille", Math.round(1000 * Math.sqrt(variance) / mean))
                .put("outlier_means_over_ns", outlierNanos)
                .put("outliers", outliers)
                .put("outliers_ns", outliersNanos);
    }
}
