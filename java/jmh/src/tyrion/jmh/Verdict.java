package tyrion.jmh;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What {@code tyrion report} says of a log. */
final class Verdict {
    private final Map<?, ?> answer;

    private Verdict(Map<?, ?> answer) {
        this.answer = answer;
    }

    /**
     * Has a log read, as far as it is about threads whose name matches.
     *
     * @throws IOException with one line that says why it cannot be
     */
    static Verdict of(String command, String log, String threads) throws IOException {
        File noise = File.createTempFile("tyrion", ".err");
        try {
            Process process;
            try {
                process =
                        new ProcessBuilder(
                                        command, "report", "--json", "--section", "verdict",
                                        "--thread=" + threads, log)
                                .redirectError(noise)
                                .start();
            } catch (IOException e) {
                throw new IOException("no command " + command + " to read logs (tyrion=PATH)");
            }
            process.getOutputStream().close();
            String said = text(process.getInputStream());
            if (process.waitFor() != 0) {
                throw new IOException(command + " cannot read the log: " + firstLine(noise));
            }
            Object verdict = Json.at(Json.parse(said), "sections", "verdict");
            if (!(verdict instanceof Map)) {
                throw new IOException(command + " says nothing of locks");
            }
            return new Verdict((Map<?, ?>) verdict);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted");
        } finally {
            if (!noise.delete()) {
                noise.deleteOnExit();
            }
        }
    }

    private static String firstLine(File file) throws IOException {
        List<String> lines = Files.readAllLines(file.toPath(), StandardCharsets.UTF_8);
        return lines.isEmpty() ? "it does not say why" : lines.get(0);
    }

    private static String text(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] piece = new byte[1 << 13];
        for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
            out.write(piece, 0, read);
        }
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }

    double waitNanos() {
        return Json.number(answer, "wait_ns");
    }

    double contended() {
        return Json.number(answer, "contended");
    }

    double lostShare() {
        return Json.number(answer, "lost_share");
    }

    /** The worst lock: its name in the program, or else its class; empty if there is none. */
    String lock() {
        String name = Json.text(answer, "lock", "lock", "name");
        return name.isEmpty() ? Json.text(answer, "lock", "lock", "class") : name;
    }

    double lockShare() {
        return Json.number(answer, "lock", "wait_share");
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        Object all = Json.at(answer, "lines");
        if (all instanceof List) {
            for (Object line : (List<?>) all) {
                lines.add(String.valueOf(line));
            }
        }
        return lines;
    }
}
