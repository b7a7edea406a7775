package tyrion.agent;

import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * A folder of this process's own, which nobody else may enter, for the library and for what the
 * agent answers: as {@code tyrion attach} makes them, so that the agent removes it at the JVM's
 * end, and commands recognize it. No file is read or written by a channel: Java closes that when
 * the thread is interrupted.
 */
final class Exchange implements Closeable {
    /** Names the folder around it. */
    static final String FOLDER = "tyrion.agent.folder";

    /** As formats/wire/src/exchange.rs has these names. */
    private static final String PREFIX = ".tyrion-";

    private static final String REPLY = "reply";
    private static final String DRAFT = "reply.draft";

    private static final int RANDOM_BYTES = 16;

    /** The longest library that is looked at, and the longest answer. */
    private static final long LONGEST = 64 << 20;

    private static final int LONGEST_ANSWER = 64 << 10;

    private static final int OTHERS_MAY_WRITE = 0022;
    private static final int STICKY = 01000;
    private static final int PERMISSIONS = 0777;
    private static final int PRIVATE = 0700;

    private final Path folder;
    private final int uid;

    /** Whether there is a library in it. */
    private boolean hasLibrary;

    /** Whether the JVM has it: it stays until that ends. */
    private boolean isKept;

    /** Removes all of it if the JVM ends before the agent sees to that. */
    private Remover remover;

    private Exchange(Path folder, int uid) {
        this.folder = folder;
        this.uid = uid;
    }

    static Path path(String text) throws NotLoadedException {
        try {
            return Paths.get(text);
        } catch (InvalidPathException e) {
            throw new NotLoadedException("no path: " + text);
        }
    }

    /** A new one, if nobody but this user and root could put another in its place. */
    static Exchange create(Path around) throws IOException {
        Path real = around.toRealPath();
        Path folder = real.resolve(PREFIX + randomName());
        Files.createDirectory(folder, mode("rwx------"));
        try {
            Exchange exchange = new Exchange(folder, number(folder, "unix:uid"));
            exchange.checkAround(real);
            return exchange;
        } catch (IOException | RuntimeException e) {
            Files.delete(folder);
            throw e;
        }
    }

    /** From the kernel: Java's own generators, and its formatting, take 100 ms at the first use. */
    private static String randomName() throws IOException {
        StringBuilder name = new StringBuilder();
        try (InputStream random = new FileInputStream("/dev/urandom")) {
            for (int i = 0; i < RANDOM_BYTES; i++) {
                int b = random.read();
                if (b < 0) {
                    throw new IOException("no random bytes");
                }
                name.append(Character.forDigit(b >> 4, 16)).append(Character.forDigit(b & 15, 16));
            }
        }
        return name.toString();
    }

    private void checkAround(Path real) throws IOException {
        for (Path at = real; at != null; at = at.getParent()) {
            int mode = number(at, "unix:mode");
            int owner = number(at, "unix:uid");
            // In a sticky folder, as /tmp, others may only put something beside.
            boolean isOpen = (mode & OTHERS_MAY_WRITE) != 0 && (mode & STICKY) == 0;
            if (isOpen || owner != 0 && owner != uid) {
                throw new IOException("another user could replace what is in " + at);
            }
        }
    }

    /** The library that this very class has loaded before, if it is still there. */
    Path again(Path own) {
        try {
            return own != null && isPrivate(own) ? own : null;
        } catch (IOException | RuntimeException e) {
            return null;
        }
    }

    /**
     * The library that another class loader has loaded before, if it is the very same, and nobody
     * could change it. A JVM that was given all of its parent's properties has loaded nothing.
     */
    Path reuse(String loaded, Library library) throws NotLoadedException {
        if (loaded == null) {
            return null;
        }
        try {
            Path path = Paths.get(loaded);
            if (!isPrivate(path) || Files.size(path) > LONGEST || !Library.isMapped(loaded)) {
                return null;
            }
            return library.is(path) ? path : null;
        } catch (IOException | RuntimeException e) {
            // Whatever is there instead, it is not used.
            return null;
        }
    }

    /** Whether it is a file in such a folder, and nobody could put another in its place. */
    private boolean isPrivate(Path path) throws IOException {
        Path around = path.getParent();
        if (around == null
                || !around.getFileName().toString().startsWith(PREFIX)
                || !isOurs(around, PRIVATE)
                || !Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        checkAround(around.getParent().toRealPath());
        return true;
    }

    private boolean isOurs(Path path, int mode) throws IOException {
        return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)
                && number(path, "unix:uid") == uid
                && (number(path, "unix:mode") & PERMISSIONS) == mode;
    }

    /** Puts the library there, and makes sure that it is. */
    Path put(Library library) throws NotLoadedException, IOException {
        Path path = folder.resolve(Library.NAME);
        remover = new Remover();
        try {
            Runtime.getRuntime().addShutdownHook(remover);
        } catch (IllegalStateException e) {
            throw new NotLoadedException("the JVM ends");
        }
        hasLibrary = true;
        // A new file, and by no link. Nobody else enters the folder.
        Files.createFile(path, mode("rwx------"));
        library.writeTo(path);
        if (!library.is(path)) {
            throw new IOException(path + " is not what was written");
        }
        return path;
    }

    /** The library is loaded. */
    void keepLibrary() {
        isKept = hasLibrary;
    }

    /** The options, and where to answer. */
    String options(String wanted) {
        String all = wanted.isEmpty() ? "" : wanted + ",";
        if (hasLibrary) {
            all += "home=" + escaped(folder.toString()) + ",";
        }
        // Last: it ends with no backslash.
        return all + "reply=" + escaped(folder.resolve(REPLY).toString());
    }

    private static String escaped(String value) {
        return value.replace("\\", "\\\\").replace(",", "\\,");
    }

    /** What the agent answers, which it does from a thread of its own. */
    String await(long patienceNanos) throws NotLoadedException, IOException {
        long begin = System.nanoTime();
        boolean isInterrupted = false;
        Path reply = folder.resolve(REPLY);
        try {
            while (!Files.exists(reply, LinkOption.NOFOLLOW_LINKS)) {
                if (System.nanoTime() - begin > patienceNanos) {
                    throw new NotLoadedException("the agent does not answer");
                }
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (Files.size(reply) > LONGEST_ANSWER) {
            throw new NotLoadedException("the agent's answer is too long");
        }
        String answer = text(reply.toFile());
        if (answer.startsWith("error=")) {
            throw new NotLoadedException(answer.substring("error=".length()).trim());
        }
        // An agent that has not started removes nothing.
        forgetRemover();
        return answer;
    }

    private static String text(File reply) throws IOException {
        byte[] bytes = new byte[LONGEST_ANSWER];
        try (InputStream in = new FileInputStream(reply)) {
            return new String(bytes, 0, Library.read(in, bytes), StandardCharsets.UTF_8);
        }
    }

    private void forgetRemover() {
        try {
            if (remover != null) {
                Runtime.getRuntime().removeShutdownHook(remover);
            }
        } catch (IllegalStateException e) {
            // The JVM ends already.
        }
    }

    @Override
    public void close() throws IOException {
        removeAnswer();
        if (!isKept) {
            removeAll();
            forgetRemover();
        }
    }

    private void removeAnswer() throws IOException {
        Files.deleteIfExists(folder.resolve(REPLY));
        Files.deleteIfExists(folder.resolve(DRAFT));
    }

    private void removeAll() throws IOException {
        Files.deleteIfExists(folder.resolve(Library.NAME));
        Files.deleteIfExists(folder);
    }

    /** Not {@code deleteOnExit}, which deletes whatever has the name by then. */
    private final class Remover extends Thread {
        Remover() {
            super("tyrion-remove");
        }

        @Override
        public void run() {
            try {
                if (isOurs(folder, PRIVATE)) {
                    removeAnswer();
                    removeAll();
                }
            } catch (IOException e) {
                // The agent writes into it, and removes it.
            }
        }
    }

    private static FileAttribute<Set<PosixFilePermission>> mode(String permissions) {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions));
    }

    private static int number(Path path, String attribute) throws IOException {
        if (!FileSystems.getDefault().supportedFileAttributeViews().contains("unix")) {
            throw new IOException("no owners of files are known");
        }
        return (Integer) Files.getAttribute(path, attribute, LinkOption.NOFOLLOW_LINKS);
    }
}
