package tyrion.subjects;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * A class whose loader finds nothing but what the class needs, as that of a sandbox. It takes a
 * lock a thousand times, and says how often it has.
 */
public final class Choosy {
    private Choosy() {}

    /** What the loader loads. */
    public static final class Guarded implements Runnable {
        private int count;

        @Override
        public void run() {
            for (int i = 0; i < 1000; i++) {
                synchronized (this) {
                    count++;
                }
            }
            System.setProperty("choosy.count", Integer.toString(count));
        }
    }

    private static final class Loader extends ClassLoader {
        private static final String OWN = Guarded.class.getName();

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(OWN)) {
                byte[] bytes = read(name);
                return defineClass(name, bytes, 0, bytes.length);
            }
            if (!name.startsWith("java.") || name.contains("Tyrion")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }

        private static byte[] read(String name) throws ClassNotFoundException {
            String file = "/" + name.replace('.', '/') + ".class";
            try (InputStream in = Choosy.class.getResourceAsStream(file)) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int next = in.read(); next >= 0; next = in.read()) {
                    out.write(next);
                }
                return out.toByteArray();
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** Has it run. */
    public static void main(String[] arguments) throws Exception {
        Class<?> guarded = new Loader().loadClass(Guarded.class.getName(), true);
        ((Runnable) guarded.getDeclaredConstructor().newInstance()).run();
        System.out.println("{\"taken\": " + System.getProperty("choosy.count") + "}");
    }
}
