package tyrion.agent.reading;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The command {@code tyrion}, which reads logs. No shell runs it. */
public final class Command {
    /** More than this no report has. */
    private static final int MOST_BYTES = 64 << 20;

    private final String path;
    private final String option;

    /**
     * A command.
     *
     * @param path its path, or its name if it is on the PATH
     * @param option what the user gives to name another, as messages have it
     */
    public Command(String path, String option) {
        this.path = path;
        this.option = option;
    }

    /**
     * Runs {@code tyrion report}.
     *
     * @param log the log
     * @param options its options, without {@code --json}
     * @return the sections of the report, by name
     * @throws IOException with one line that says why it cannot be
     */
    public Object report(String log, List<String> options) throws IOException {
        List<String> words = new ArrayList<>();
        words.add("report");
        words.add("--json");
        words.addAll(options);
        words.add("--");
        words.add(log);
        Object sections = Json.at(Json.parse(run(words)), "sections");
        if (sections == null) {
            throw new IOException(path + " says nothing of locks");
        }
        return sections;
    }

    /**
     * What the report's verdict says of a log in words.
     *
     * @param sections those of the report
     * @return at most five lines
     */
    public static List<String> lines(Object sections) {
        List<String> lines = new ArrayList<>();
        for (Object line : Json.list(sections, "verdict", "lines")) {
            lines.add(String.valueOf(line));
        }
        return lines;
    }

    /**
     * Whether there is such a command.
     *
     * @throws IOException with one line if there is none
     */
    public void check() throws IOException {
        run(Collections.singletonList("--version"));
    }

    private String run(List<String> words) throws IOException {
        List<String> all = new ArrayList<>();
        all.add(path);
        all.addAll(words);
        File noise = File.createTempFile("tyrion", ".err");
        try {
            Process process;
            try {
                process = new ProcessBuilder(all).redirectError(noise).start();
            } catch (IOException e) {
                throw new IOException("no command " + path + " to read logs (" + option + ")");
            }
            try {
                process.getOutputStream().close();
                String said = text(process.getInputStream());
                if (process.waitFor() != 0) {
                    throw new IOException(path + " cannot read the log: " + firstLine(noise));
                }
                return said;
            } finally {
                process.destroy();
            }
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
            if (out.size() > MOST_BYTES) {
                throw new IOException("the answer is too long");
            }
        }
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }
}
