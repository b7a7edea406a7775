package tyrion.agent;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Locale;

/** The agent's library for one processor and C library, as it is in this jar. */
final class Library {
    /** As `tyrion` calls it: by this name the agent knows copies of itself. */
    static final String NAME = "libtyrion_agent.so";

    private final byte[] bytes;

    private Library(byte[] bytes) {
        this.bytes = bytes;
    }

    byte[] bytes() {
        return bytes;
    }

    /**
     * Whether these are its bytes. All are compared: when a program begins nothing is compiled, and
     * a strong hash takes Java 8 seconds.
     */
    boolean is(byte[] others) {
        return Arrays.equals(bytes, others);
    }

    static Library forThisJvm() throws NotLoadedException {
        String platform = platform();
        try (InputStream in = Library.class.getResourceAsStream("lib/" + platform + "/" + NAME)) {
            if (in == null) {
                throw new NotLoadedException("there is no agent for " + platform + " in this jar");
            }
            return new Library(readAll(in));
        } catch (IOException e) {
            throw new NotLoadedException("this jar cannot be read: " + e.getMessage());
        }
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
            String maps = Loader.text(Files.readAllBytes(Paths.get("/proc/self/maps")));
            return maps.contains("/ld-musl-") || maps.contains("/libc.musl-") ? "musl" : "glibc";
        } catch (IOException e) {
            return "glibc";
        }
    }

    private static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] piece = new byte[1 << 16];
        for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
            out.write(piece, 0, read);
        }
        return out.toByteArray();
    }
}
