package tyrion.agent;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/** The agent's library for one processor and C library, as it is in this jar. */
final class Library {
    /** As `tyrion` calls it: by this name the agent knows copies of itself. */
    static final String NAME = "libtyrion_agent.so";

    /** How much of it is in memory at once: a heap may be as small as the library. */
    private static final int PIECE = 1 << 15;

    private final String platform;

    private Library(String platform) {
        this.platform = platform;
    }

    static Library forThisJvm() {
        return new Library(platform());
    }

    private InputStream open() throws NotLoadedException {
        InputStream in = Library.class.getResourceAsStream("lib/" + platform + "/" + NAME);
        if (in == null) {
            throw new NotLoadedException("there is no agent for " + platform + " in this jar");
        }
        return in;
    }

    /** Writes it into a file, which is there. */
    void writeTo(Path file) throws NotLoadedException, IOException {
        byte[] piece = new byte[PIECE];
        try (InputStream in = open();
                OutputStream out = new FileOutputStream(file.toFile())) {
            for (int read = next(in, piece); read > 0; read = next(in, piece)) {
                out.write(piece, 0, read);
            }
        }
    }

    /**
     * Whether a file has its bytes. All are compared: when a program begins nothing is compiled,
     * and a strong hash takes Java 8 seconds.
     */
    boolean is(Path file) throws NotLoadedException, IOException {
        byte[] piece = new byte[PIECE];
        byte[] other = new byte[PIECE];
        try (InputStream in = open();
                InputStream others = new FileInputStream(file.toFile())) {
            int read;
            do {
                read = next(in, piece);
                // What is left of an earlier piece is the same in both.
                if (read(others, other) != read || !Arrays.equals(piece, other)) {
                    return false;
                }
            } while (read > 0);
            return true;
        }
    }

    /** The next piece of what is in the jar. */
    private static int next(InputStream in, byte[] piece) throws NotLoadedException {
        try {
            return read(in, piece);
        } catch (IOException e) {
            throw new NotLoadedException("this jar cannot be read: " + e.getMessage());
        }
    }

    /** The length of a piece, which is whole unless it is the last. */
    static int read(InputStream in, byte[] piece) throws IOException {
        int length = 0;
        while (length < piece.length) {
            int read = in.read(piece, length, piece.length - length);
            if (read < 0) {
                break;
            }
            length += read;
        }
        return length;
    }

    /** Such as {@code x86_64-glibc}. */
    private static String platform() {
        String system = System.getProperty("os.name", "an unknown system");
        String processor = System.getProperty("os.arch", "an unknown processor");
        if (!system.equals("Linux")) {
            return system;
        }
        switch (processor.toLowerCase(Locale.ROOT)) {
            case "amd64":
            case "x86_64":
                return "x86_64-" + libc();
            case "aarch64":
                return "aarch64-" + libc();
            default:
                return processor;
        }
    }

    /** The C library that this process runs on, which its JVM was made for. */
    private static String libc() {
        try {
            return isMapped("/ld-musl-", "/libc.musl-") ? "musl" : "glibc";
        } catch (IOException e) {
            return "glibc";
        }
    }

    /** Whether this process has a file mapped whose path has one of these in it. */
    static boolean isMapped(String... parts) throws IOException {
        try (BufferedReader maps =
                new BufferedReader(
                        new InputStreamReader(
                                new FileInputStream("/proc/self/maps"), StandardCharsets.UTF_8))) {
            for (String line = maps.readLine(); line != null; line = maps.readLine()) {
                for (String part : parts) {
                    if (line.contains(part)) {
                        return true;
                    }
                }
            }
            return false;
        }
    }
}
