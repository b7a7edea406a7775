package tyrion.truth;

/** Takes one lock so many times, and within it another one so many times each: {@code Around 2000 500}. */
final class Around {
    private static final Object OUTER = new Object();
    private static final Object INNER = new Object();
    private static long count;

    private Around() {}

    public static void main(String[] arguments) {
        int times = Integer.parseInt(arguments[0]);
        int within = Integer.parseInt(arguments[1]);
        for (int i = 0; i < times; i++) {
            synchronized (OUTER) {
                takeInner(within);
            }
        }
        System.out.println("{\"inner\": " + count + "}");
    }

    private static void takeInner(int times) {
        for (int i = 0; i < times; i++) {
            synchronized (INNER) {
                count++;
            }
        }
    }
}
