package tyrion.truth;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code half-loaded FILE}: a class whose superclass is not there yet. Its loader says {@code half
 * loaded} once the JVM has read the class and wants the superclass, and gives that when FILE is
 * there. From then on, until the program is ended, a method of the class takes a lock.
 */
final class HalfLoaded implements Scenario {
    private static final long PERIOD_MILLIS = 10;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        Class<?> type = new Loader(Paths.get(arguments.text(0, ""))).define();
        Runnable late = (Runnable) type.getDeclaredConstructor().newInstance();
        while (true) {
            late.run();
            Thread.sleep(PERIOD_MILLIS);
        }
    }

    private static final class Loader extends ClassLoader {
        private final Path signal;

        Loader(Path signal) {
            super(HalfLoaded.class.getClassLoader());
            this.signal = signal;
        }

        Class<?> define() throws IOException {
            String file = Late.class.getName().replace('.', '/') + ".class";
            try (InputStream in = HalfLoaded.class.getClassLoader().getResourceAsStream(file)) {
                byte[] bytes = Older.readAll(in);
                return defineClass(Late.class.getName(), bytes, 0, bytes.length);
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(Base.class.getName())) {
                System.out.println("half loaded");
                while (!Files.exists(signal)) {
                    Threads.sleepMillis(5);
                }
            }
            return super.loadClass(name, resolve);
        }
    }

    /** Public, as another loader's class is of another package. */
    public static class Base {}

    /** What is defined while its superclass is missing. */
    public static final class Late extends Base implements Runnable {
        private int turns;

        /** For the loader. */
        public Late() {}

        @Override
        public void run() {
            synchronized (this) {
                turns++;
            }
        }
    }
}
