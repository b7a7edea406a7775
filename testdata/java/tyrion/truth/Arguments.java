package tyrion.truth;

/** The arguments behind a scenario's name, each with a default. */
final class Arguments {
    private final String[] values;

    Arguments(String[] values) {
        this.values = values;
    }

    String text(int index, String otherwise) {
        return index < values.length ? values[index] : otherwise;
    }

    int number(int index, int otherwise) {
        return index < values.length ? Integer.parseInt(values[index]) : otherwise;
    }

    /** The arguments from an index on. */
    String[] from(int index) {
        int start = Math.min(index, values.length);
        return java.util.Arrays.copyOfRange(values, start, values.length);
    }
}
