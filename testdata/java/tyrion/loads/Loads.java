package tyrion.loads;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Loads the agent from its jar, once for each of the options that are given, each time by another
 * class loader; waits for a lock; and says which copies of the agent are mapped, and who may enter
 * their folders. Before options may stand {@code again:} for the same class loader as before, and
 * {@code interrupted:} for a thread that is; in their place {@code await:} and a file to wait for.
 *
 * <p>The file that the property {@code mapped} names is mapped meanwhile, as a C library is.
 *
 * <p>Arguments: a file to wait for before loading, or -; another one to wait for after the wait;
 * the jar; the options.
 */
public final class Loads {
    private static ClassLoader last;

    private Loads() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        await(arguments[0]);
        MappedByteBuffer mapped = map(System.getProperty("mapped"));
        List<Object> loaded = new ArrayList<>();
        for (int i = 3; i < arguments.length; i++) {
            String options = arguments[i];
            if (options.startsWith("await:")) {
                System.out.println("awaits");
                await(options.substring("await:".length()));
                continue;
            }
            loaded.add(load(new File(arguments[2]), options));
        }
        System.out.println("loaded " + loaded);
        if (mapped != null && mapped.get(0) == 0) {
            throw new IllegalStateException("the file is empty");
        }
        for (String library : libraries()) {
            Path folder = Paths.get(library).getParent();
            String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(folder));
            System.out.println("library " + mode + " " + library);
        }
        waitForALock();
        System.out.println("waited");
        await(arguments[1]);
    }

    private static MappedByteBuffer map(String file) throws IOException {
        if (file == null) {
            return null;
        }
        try (FileChannel channel = FileChannel.open(Paths.get(file))) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, 1);
        }
    }

    private static Object load(File jar, String options) throws Exception {
        if (options.startsWith("again:")) {
            return load(last, options.substring("again:".length()));
        }
        URL[] urls = {jar.toURI().toURL()};
        // Its own classes, whatever the class path has.
        ClassLoader none = ClassLoader.getSystemClassLoader().getParent();
        @SuppressWarnings("resource") // Its classes are used until the end.
        URLClassLoader loader = new URLClassLoader(urls, none);
        last = loader;
        if (!options.startsWith("interrupted:")) {
            return load(loader, options);
        }
        Thread.currentThread().interrupt();
        Object loaded = load(loader, options.substring("interrupted:".length()));
        if (!Thread.interrupted()) {
            throw new IllegalStateException("no longer interrupted");
        }
        return loaded;
    }

    private static Object load(ClassLoader loader, String options) throws Exception {
        Method load = loader.loadClass("tyrion.agent.Tyrion").getMethod("load", String.class);
        return load.invoke(null, options);
    }

    private static Set<String> libraries() throws IOException {
        Set<String> libraries = new TreeSet<>();
        for (String line : Files.readAllLines(Paths.get("/proc/self/maps"))) {
            if (line.endsWith("/libtyrion_agent.so")) {
                libraries.add(line.substring(line.indexOf('/')));
            }
        }
        return libraries;
    }

    private static void waitForALock() throws InterruptedException {
        Object lock = new Object();
        Thread waiter = new Thread(() -> enter(lock), "waiter");
        synchronized (lock) {
            waiter.start();
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(50);
        }
        waiter.join();
    }

    private static void enter(Object lock) {
        synchronized (lock) {
            System.out.println("entered");
        }
    }

    private static void await(String file) throws InterruptedException {
        while (!file.equals("-") && !Files.exists(Paths.get(file))) {
            Thread.sleep(5);
        }
    }
}
