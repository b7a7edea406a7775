import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads and links classes without initializing them, and counts what the JVM says.
 *
 * <pre>LoadAll modules DIR            the classes of the modules DIR/*, from this JDK
 *LoadAll jars DIR               the classes of the unpacked jars DIR/*
 *LoadAll jars DIR OVERLAYS      the same, but what is in OVERLAYS/* takes precedence</pre>
 *
 * Prints one line for each class that is rejected, and a summary.
 */
public final class LoadAll {
    private static final Map<String, Integer> OUTCOMES = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        checkThatLinkingVerifies();
        Path directory = Path.of(arguments[1]);
        List<Path> trees = children(directory);
        for (Path tree : trees) {
            ClassLoader loader = ClassLoader.getSystemClassLoader();
            if (arguments[0].equals("jars")) {
                Path overlays = arguments.length > 2 ? Path.of(arguments[2]) : null;
                loader = jarLoader(tree, trees, overlays);
            }
            for (String name : classesBelow(tree)) {
                OUTCOMES.merge(load(name, loader), 1, Integer::sum);
            }
        }
        System.out.println(OUTCOMES);
    }

    private static List<Path> children(Path directory) throws IOException {
        try (Stream<Path> children = Files.list(directory)) {
            return children.sorted().collect(Collectors.toList());
        }
    }

    /** A loader of one jar that finds in the others what that jar depends on. */
    private static ClassLoader jarLoader(Path jar, List<Path> all, Path overlays)
            throws IOException {
        List<URL> path = new ArrayList<>();
        for (Path tree : Stream.concat(Stream.of(jar), all.stream()).collect(Collectors.toList())) {
            if (overlays != null) {
                path.add(overlays.resolve(tree.getFileName()).toUri().toURL());
            }
            path.add(tree.toUri().toURL());
        }
        // A directory that does not exist (yet) gets no slash at its end and would count as a jar.
        path.removeIf(url -> !url.getPath().endsWith("/"));
        return new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    /** How loading ends: "linked", or the simple name of what is thrown. */
    private static String load(String name, ClassLoader loader) {
        try {
            link(Class.forName(name, false, loader));
            return "linked";
        } catch (VerifyError | ClassFormatError error) {
            String message = String.valueOf(error.getMessage());
            String kind = error.getClass().getSimpleName();
            System.out.println(name + ": " + kind + ": " + message.lines().findFirst().orElse(""));
            return kind;
        } catch (ClassNotFoundException | LinkageError | SecurityException error) {
            return error.getClass().getSimpleName();
        }
    }

    /** The JVM links a class before it lists its members, and verifies it when it links it. */
    private static void link(Class<?> type) {
        try {
            type.getDeclaredConstructors();
        } catch (NoClassDefFoundError | TypeNotPresentException parameterTypeMissing) {
            // Thrown after linking; what linking itself misses is missing without probes, too.
        }
    }

    private static List<String> classesBelow(Path tree) throws IOException {
        List<String> names = new ArrayList<>();
        try (Stream<Path> files = Files.walk(tree)) {
            files.map(file -> tree.relativize(file).toString().replace('/', '.'))
                    .filter(name -> name.endsWith(".class") && !name.endsWith("-info.class"))
                    .filter(name -> !name.startsWith("META-INF"))
                    .map(name -> name.substring(0, name.length() - ".class".length()))
                    .sorted()
                    .forEach(names::add);
        }
        return names;
    }

    /** A count of zero errors means something only if there would be errors. */
    private static void checkThatLinkingVerifies() throws Exception {
        byte[] bytes = LoadAll.class.getResourceAsStream("LoadAll$Victim.class").readAllBytes();
        int changed = 0;
        for (int i = 0; i + 1 < bytes.length; i++) {
            boolean iconst5Ireturn = bytes[i] == 8 && bytes[i + 1] == (byte) 0xac;
            if (iconst5Ireturn) {
                bytes[i] = 1; // aconst_null
                changed++;
            }
        }
        Class<?> broken = new ClassLoader(null) {
            Class<?> define() {
                return defineClass(null, bytes, 0, bytes.length);
            }
        }.define();
        try {
            link(broken);
        } catch (VerifyError expected) {
            return;
        }
        throw new AssertionError("linking did not verify; " + changed + " places changed");
    }

    private static final class Victim {
        static int answer() {
            return 5;
        }
    }
}
