package tyrion.whatif;

/**
 * Something to do on a processor. How long it takes is up to the processor, so that two threads
 * that share one take twice as long.
 */
final class Work {
    /** What takes about a microsecond. */
    private static final int ROUNDS = 500;

    private long value;

    Work(long seed) {
        value = seed;
    }

    /** Computes for so many microseconds, more or less. */
    void micros(int micros) {
        long x = value | 1;
        for (int i = micros * ROUNDS; i > 0; i--) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        value = x;
    }

    /** A number below a bound, by chance. */
    int below(int bound) {
        value = value * 6364136223846793005L + 1442695040888963407L;
        return (int) ((value >>> 33) % bound);
    }

    /** Has the JVM believe that the result matters. */
    long result() {
        return value;
    }
}
