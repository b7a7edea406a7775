package tyrion.selfcheck;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import tyrion.support.Older;

/** One class in two class loaders: its static synchronized methods lock two different classes. */
final class TwoLoaders implements SelfCheck.Check {
    /** The class that is loaded twice. */
    public static final class Twin implements Runnable {
        private static int calls;

        @Override
        public void run() {
            locked(null);
        }

        /** Runs something with this very class locked. */
        public static synchronized void locked(Runnable inside) {
            checkHeld();
            calls++;
            if (inside != null) {
                inside.run();
            }
        }

        /** As {@link #locked}, by a block. */
        public static int block() {
            synchronized (Twin.class) {
                checkHeld();
                return calls;
            }
        }

        /** Not by {@link Locked}: that one is in another package, as the JVM sees it. */
        private static void checkHeld() {
            if (!Thread.holdsLock(Twin.class)) {
                throw new AssertionError("the class of this loader is not held");
            }
        }
    }

    /** Defines the twin itself, and leaves the rest to its parent. */
    private static final class Loader extends ClassLoader {
        Loader() {
            super(TwoLoaders.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (!name.equals(Twin.class.getName())) {
                    return super.loadClass(name, resolve);
                }
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : define(name);
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            String file = name.replace('.', '/') + ".class";
            try (InputStream bytes = getParent().getResourceAsStream(file)) {
                byte[] all = Older.readAll(bytes);
                return defineClass(name, all, 0, all.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Override
    public void run() throws Exception {
        Class<?> first = new Loader().loadClass(Twin.class.getName());
        Class<?> second = new Loader().loadClass(Twin.class.getName());
        Locked.check(first != second && first != Twin.class, "one class only");
        for (int i = 0; i < 200; i++) {
            call(first, () -> {});
            call(second, () -> {});
        }
        call(first, () -> {
            Locked.has(first, "the first");
            Locked.check(!Thread.holdsLock(second), "the second is held with the first");
            boolean done = Locked.otherDoes(() -> call(second, () -> {}), 20, TimeUnit.SECONDS);
            Locked.check(done, "the second cannot be had with the first");
            boolean both = Locked.otherDoes(
                    () -> call(first, () -> {}), 20, TimeUnit.MILLISECONDS);
            Locked.check(!both, "the first excludes no other thread");
        });
        Locked.free(first, "the first");
        Locked.free(second, "the second");
        // 202: the call that waited was let in at last.
        int calls = (int) first.getMethod("block").invoke(null);
        Locked.check(calls == 201 || calls == 202, "calls of the first: " + calls);
        Locked.check((int) second.getMethod("block").invoke(null) == 201, "calls of the second");
    }

    private static void call(Class<?> twin, Runnable inside) {
        try {
            twin.getMethod("locked", Runnable.class).invoke(null, inside);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
