package tyrion.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Has the JVM load the agent, and waits for what that answers. */
final class Loader {
    /** Which library was loaded by whichever class loader first, and with which options. */
    private static final String LIBRARY = "tyrion.agent.library";

    private static final String OPTIONS = "tyrion.agent.options";

    /** One for all class loaders: a literal is the same object everywhere. */
    private static final Object TURN = "tyrion.agent: one loads it at a time";

    /** The agent answers within milliseconds, or, with many classes to change, within seconds. */
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    private Loader() {}

    /** What the agent answers. */
    static String load(String options, Instrumentation instrumentation) throws NotLoadedException {
        String wanted = options == null ? "" : options;
        check(wanted);
        synchronized (TURN) {
            // With the very same options there is nothing to change, and some cannot.
            boolean isSame = wanted.equals(System.getProperty(OPTIONS));
            return loadInTurn(isSame ? "" : wanted, wanted, instrumentation);
        }
    }

    private static void check(String options) throws NotLoadedException {
        for (int at = 0; at < options.length(); at++) {
            if (Character.isISOControl(options.charAt(at))) {
                throw new NotLoadedException("the options have a control character");
            }
        }
    }

    private static String loadInTurn(String sent, String wanted, Instrumentation instrumentation)
            throws NotLoadedException {
        Library library = Library.forThisJvm();
        NotLoadedException first = null;
        for (Path around : places()) {
            try (Exchange exchange = Exchange.create(around)) {
                Path path = exchange.reuse(System.getProperty(LIBRARY), library);
                if (path == null) {
                    path = exchange.put(library);
                }
                Door.of(instrumentation).load(path, exchange.options(sent));
                // From now on it is the agent's to remove.
                exchange.keepLibrary();
                String answer = exchange.await(PATIENCE_NANOS);
                if (System.getProperty(LIBRARY) == null) {
                    System.setProperty(LIBRARY, path.toString());
                    System.setProperty(OPTIONS, wanted);
                }
                return answer;
            } catch (IOException e) {
                // Another folder may be on a file system with room, or that allows programs.
                first = first == null ? new NotLoadedException(describe(around, e)) : first;
            }
        }
        throw first;
    }

    private static String describe(Path around, IOException e) {
        String reason = e.getMessage() == null ? e.toString() : e.getMessage();
        String place = around.toString();
        return (reason.contains(place) ? reason : place + ": " + reason)
                + "; name another folder in -D" + Exchange.FOLDER;
    }

    /** Where the library may be put: where it is named, or else for temporary files, or at home. */
    private static List<Path> places() throws NotLoadedException {
        List<Path> places = new ArrayList<>();
        String named = System.getProperty(Exchange.FOLDER);
        String[] properties = {Exchange.FOLDER, "java.io.tmpdir", "user.home"};
        for (String property : properties) {
            String value = property.equals(Exchange.FOLDER) ? named : System.getProperty(property);
            if (value == null || value.isEmpty()) {
                continue;
            }
            Path place = Exchange.path(value);
            if (Files.isDirectory(place)) {
                places.add(place);
            } else if (property.equals(Exchange.FOLDER)) {
                throw new NotLoadedException(value + " is no folder (-D" + Exchange.FOLDER + ")");
            }
            if (property.equals(Exchange.FOLDER)) {
                break;
            }
        }
        if (places.isEmpty()) {
            throw new NotLoadedException(
                    "no folder for the agent; name one in -D" + Exchange.FOLDER);
        }
        return places;
    }

    /** Says something in one line on stderr, as the agent does. */
    static void say(String message) {
        StringBuilder line = new StringBuilder("tyrion: ");
        for (int at = 0; at < message.length(); at++) {
            char c = message.charAt(at);
            line.append(Character.isISOControl(c) ? ' ' : c);
        }
        System.err.println(line.append("; the program runs unprofiled"));
    }

    /** UTF-8, as the agent reads and writes it. */
    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
