package tyrion.support;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

/** What JDK 8 lacks, on which these programs run as well. */
public final class Older {
    private Older() {}

    /** All that a stream still has. */
    public static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] piece = new byte[8192];
        for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
            all.write(piece, 0, read);
        }
        return all.toByteArray();
    }

    /** Between two looks of a thread that does not sleep. */
    public static void onSpinWait() {}

    /** The number of this process. */
    public static long pid() throws IOException {
        return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
    }

    /** The number of a child. */
    public static long pid(Process child) throws ReflectiveOperationException {
        try {
            return (Long) Process.class.getMethod("pid").invoke(child);
        } catch (NoSuchMethodException older) {
            Field pid = child.getClass().getDeclaredField("pid");
            pid.setAccessible(true);
            return pid.getInt(child);
        }
    }

    /** A map of two values by their keys. */
    public static <V> Map<String, V> map(String first, V one, String second, V other) {
        Map<String, V> map = new HashMap<>();
        map.put(first, one);
        map.put(second, other);
        return map;
    }

    /** A text so many times. */
    public static String repeat(String text, int times) {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < times; i++) {
            all.append(text);
        }
        return all.toString();
    }
}
