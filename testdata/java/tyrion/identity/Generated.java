package tyrion.identity;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;

/**
 * Does with generated classes what a script says, a step on each line:
 *
 * <ul>
 *   <li>{@code load ID FOLDER CLASS}: an object of a class, which is loaded from a folder unless
 *       it has been, and was not dropped since
 *   <li>{@code alone ID FOLDER CLASS}: the same in a class loader of its own
 *   <li>{@code again ID OTHER}: another object of the class that an object has
 *   <li>{@code call ID METHOD}
 *   <li>{@code contend ID METHOD PLACE OTHER METHOD}: the first one keeps the lock that it takes at
 *       a place until the other one waits for it
 *   <li>{@code redefine ID FILE}: its class has this class file now
 *   <li>{@code drop ID}: it is not needed any more, nor is its class if it was loaded alone
 *   <li>{@code collect}: what is not needed goes
 * </ul>
 */
public final class Generated {
    private final Map<String, Subject> subjects = new HashMap<>();
    private final Map<String, ClassLoader> loaders = new HashMap<>();

    private Generated() {}

    public static void main(String[] args) throws IOException {
        Account.begin();
        Generated generated = new Generated();
        for (String line : Files.readAllLines(Paths.get(args[0]))) {
            try {
                generated.step(line.split(" "));
            } catch (ReflectiveOperationException | IOException | RuntimeException e) {
                throw new IllegalStateException(line, e);
            }
        }
        Account.end();
    }

    private void step(String[] words) throws ReflectiveOperationException, IOException {
        switch (words[0]) {
            case "load":
                ClassLoader loader = loaders.get(words[2]);
                if (loader == null) {
                    loader = loaderOf(words[2]);
                    loaders.put(words[2], loader);
                }
                make(words[1], loader.loadClass(words[3]));
                break;
            case "alone":
                make(words[1], loaderOf(words[2]).loadClass(words[3]));
                break;
            case "again":
                make(words[1], subjects.get(words[2]).getClass());
                break;
            case "call":
                subjects.get(words[1]).call(Integer.parseInt(words[2]));
                break;
            case "contend":
                Account.contend(
                        Integer.parseInt(words[3]), run(words[1], words[2]), run(words[4], words[5]));
                break;
            case "redefine":
                Changing.redefine(subjects.get(words[1]).getClass(), Paths.get(words[2]));
                break;
            case "drop":
                subjects.remove(words[1]);
                break;
            case "collect":
                System.gc();
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static ClassLoader loaderOf(String folder) throws MalformedURLException {
        return new URLClassLoader(new URL[] {Paths.get(folder).toUri().toURL()});
    }

    private void make(String id, Class<?> type) throws ReflectiveOperationException {
        subjects.put(id, (Subject) type.getDeclaredConstructor().newInstance());
    }

    /** One and the same way to all methods, so that stacks differ in nothing else. */
    private Runnable run(String id, String method) {
        Subject subject = subjects.get(id);
        int number = Integer.parseInt(method);
        return () -> subject.call(number);
    }
}
