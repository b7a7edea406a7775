package tyrion.agent.reading;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import tyrion.agent.NotLoadedException;
import tyrion.agent.Tyrion;

/** What the agent says of itself. */
public final class Status {
    private final Map<String, String> values = new LinkedHashMap<>();

    private Status(String said) {
        for (String line : said.split("\n")) {
            int at = line.indexOf('=');
            if (at > 0) {
                values.put(line.substring(0, at), line.substring(at + 1));
            }
        }
    }

    /**
     * Has the agent do something, and say what it does then.
     *
     * @param options as for {@link Tyrion#load(String)}; {@code command=status} changes nothing
     * @return what it says
     * @throws NotLoadedException if it does not
     */
    public static Status after(String options) throws NotLoadedException {
        return new Status(Tyrion.loadOrFail(options));
    }

    /**
     * A value.
     *
     * @param key such as {@code log}, {@code state} or {@code mode}
     * @return it, or the empty text
     */
    public String get(String key) {
        return values.getOrDefault(key, "");
    }

    /**
     * All of them.
     *
     * @return values by their keys
     */
    public Map<String, String> all() {
        return Collections.unmodifiableMap(values);
    }
}
