package tyrion.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Has the JVM load the agent, and waits for what that answers. */
final class Loader {
    /** Which library was loaded last, by whichever class loader, if others can use it, too. */
    private static final String LIBRARY = "tyrion.agent.library";

    /** One for all class loaders: a literal is the same object everywhere. */
    private static final Object TURN = "tyrion.agent: one loads it at a time";

    /** The agent answers within milliseconds, or, with many classes to change, within seconds. */
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    /** The library that was loaded by this class loader, if one was. */
    private static Path own;

    private Loader() {}

    /** What the agent answers. */
    static String load(String options, Instrumentation instrumentation) throws NotLoadedException {
        String wanted = options == null ? "" : options;
        check(wanted);
        // An interrupted thread cannot do all that it takes.
        boolean isInterrupted = Thread.interrupted();
        try {
            synchronized (TURN) {
                return loadInTurn(wanted, instrumentation);
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void check(String options) throws NotLoadedException {
        for (int at = 0; at < options.length(); at++) {
            if (Character.isISOControl(options.charAt(at))) {
                throw new NotLoadedException("the options have a control character");
            }
        }
    }

    private static String loadInTurn(String options, Instrumentation instrumentation)
            throws NotLoadedException {
        Library library = Library.forThisJvm();
        NotLoadedException first = null;
        for (Path around : places()) {
            try (Exchange exchange = Exchange.create(around)) {
                Path path = exchange.again(own);
                if (path == null) {
                    path = exchange.reuse(System.getProperty(LIBRARY), library);
                }
                if (path == null) {
                    path = exchange.put(library);
                }
                boolean isShared =
                        Door.of(instrumentation).load(path, exchange.options(options));
                exchange.keepLibrary();
                own = path;
                if (isShared) {
                    System.setProperty(LIBRARY, path.toString());
                }
                return exchange.await(PATIENCE_NANOS);
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
}
