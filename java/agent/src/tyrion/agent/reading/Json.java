package tyrion.agent.reading;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON, as {@code tyrion} writes it: maps, lists, texts, doubles, booleans, null. */
public final class Json {
    /** Nothing that is written nests deeper. */
    private static final int DEPTH = 100;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads a whole text.
     *
     * @param text what it is
     * @return the value
     * @throws IOException if it is no JSON
     */
    public static Object parse(String text) throws IOException {
        Json json = new Json(text);
        try {
            Object value = json.value(0);
            json.space();
            if (json.at != text.length()) {
                throw json.mistake();
            }
            return value;
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw json.mistake();
        }
    }

    /**
     * What keys lead to.
     *
     * @param value from where
     * @param keys one within the other
     * @return a value, or null
     */
    public static Object at(Object value, String... keys) {
        Object found = value;
        for (String key : keys) {
            found = found instanceof Map ? ((Map<?, ?>) found).get(key) : null;
        }
        return found;
    }

    /**
     * A number.
     *
     * @param value from where
     * @param keys one within the other
     * @return the number, or 0
     */
    public static double number(Object value, String... keys) {
        Object found = at(value, keys);
        return found instanceof Double ? (Double) found : 0;
    }

    /**
     * A text.
     *
     * @param value from where
     * @param keys one within the other
     * @return the text, or the empty one
     */
    public static String text(Object value, String... keys) {
        Object found = at(value, keys);
        return found instanceof String ? (String) found : "";
    }

    /**
     * A list.
     *
     * @param value from where
     * @param keys one within the other
     * @return the list, or the empty one
     */
    public static List<?> list(Object value, String... keys) {
        Object found = at(value, keys);
        return found instanceof List ? (List<?>) found : new ArrayList<>();
    }

    private IOException mistake() {
        return new IOException("no JSON at " + at);
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private boolean takes(char c) {
        space();
        boolean is = text.charAt(at) == c;
        at += is ? 1 : 0;
        return is;
    }

    private void expect(char c) throws IOException {
        if (!takes(c)) {
            throw mistake();
        }
    }

    private Object value(int depth) throws IOException {
        if (depth > DEPTH) {
            throw mistake();
        }
        if (takes('{')) {
            return map(depth + 1);
        }
        if (takes('[')) {
            return list(depth + 1);
        }
        if (takes('"')) {
            return string();
        }
        int begin = at;
        while (at < text.length() && "+-.eE".indexOf(text.charAt(at)) >= 0
                || at < text.length() && Character.isLetterOrDigit(text.charAt(at))) {
            at++;
        }
        String word = text.substring(begin, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
                return Double.valueOf(word);
        }
    }

    private Map<String, Object> map(int depth) throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        if (takes('}')) {
            return map;
        }
        do {
            expect('"');
            String key = string();
            expect(':');
            map.put(key, value(depth));
        } while (takes(','));
        expect('}');
        return map;
    }

    private List<Object> list(int depth) throws IOException {
        List<Object> list = new ArrayList<>();
        if (takes(']')) {
            return list;
        }
        do {
            list.add(value(depth));
        } while (takes(','));
        expect(']');
        return list;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        while (true) {
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            if (c != '\\') {
                out.append(c);
                continue;
            }
            char escaped = text.charAt(at++);
            switch (escaped) {
                case 'b':
                    out.append('\b');
                    break;
                case 'f':
                    out.append('\f');
                    break;
                case 'n':
                    out.append('\n');
                    break;
                case 'r':
                    out.append('\r');
                    break;
                case 't':
                    out.append('\t');
                    break;
                case 'u':
                    out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                    break;
                default:
                    out.append(escaped);
            }
        }
    }
}
