package tyrion.support;

import java.util.Iterator;
import java.util.List;
import java.util.Locale;

/**
 * One JSON object on one line, keys in the order they were put. Establishes that what a program
 * measured leaves it in one form that every test can read. ASCII only, so that the encoding of
 * stdout does not matter.
 */
public final class Json {
    private final StringBuilder text = new StringBuilder("{");

    public Json put(String key, String value) {
        key(key);
        quote(value);
        return this;
    }

    public Json put(String key, long value) {
        key(key).append(value);
        return this;
    }

    /** Puts a measured quotient, with three decimals. */
    public Json put(String key, double value) {
        key(key).append(String.format(Locale.ROOT, "%.3f", value));
        return this;
    }

    public Json put(String key, boolean value) {
        key(key).append(value);
        return this;
    }

    /** Puts an array of strings, objects or numbers. */
    public Json put(String key, List<?> values) {
        key(key).append('[');
        for (Iterator<?> each = values.iterator(); each.hasNext(); ) {
            Object value = each.next();
            if (value instanceof String) {
                quote((String) value);
            } else {
                text.append(value);
            }
            if (each.hasNext()) {
                text.append(',');
            }
        }
        text.append(']');
        return this;
    }

    @Override
    public String toString() {
        return text + "}";
    }

    private StringBuilder key(String key) {
        if (text.length() > 1) {
            text.append(',');
        }
        quote(key);
        return text.append(':');
    }

    private void quote(String value) {
        text.append('"');
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }
}
