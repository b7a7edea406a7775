import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** Threads read stored entries of one archive, as a loader of one-jar applications does. */
public class Case {
    static volatile boolean stop;

    static final class ResourceReader extends Thread {
        final ZipFile archive;
        final String entry;
        long megabytes;

        ResourceReader(ZipFile archive, int number) {
            super("resource-reader-" + number);
            setDaemon(true);
            this.archive = archive;
            this.entry = "lib/part-" + number + ".jar";
        }

        void readEntry(byte[] buffer) throws Exception {
            try (InputStream in = archive.getInputStream(archive.getEntry(entry))) {
                while (in.read(buffer) > 0 && !stop) {
                    megabytes++;
                }
            }
        }

        @Override
        public void run() {
            byte[] buffer = new byte[1 << 20];
            try {
                while (!stop) {
                    readEntry(buffer);
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }
    }

    static File archive(int entries) throws Exception {
        File file = File.createTempFile("application", ".zip");
        file.deleteOnExit();
        byte[] content = new byte[4 << 20];
        CRC32 crc = new CRC32();
        crc.update(content);
        try (ZipOutputStream out = new ZipOutputStream(new FileOutputStream(file))) {
            out.setMethod(ZipOutputStream.STORED);
            for (int i = 0; i < entries; i++) {
                ZipEntry entry = new ZipEntry("lib/part-" + i + ".jar");
                entry.setSize(content.length);
                entry.setCompressedSize(content.length);
                entry.setCrc(crc.getValue());
                out.putNextEntry(entry);
                out.write(content);
                out.closeEntry();
            }
        }
        return file;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        int count = 8;
        File file = archive(count);
        ZipFile archive = new ZipFile(file);
        List<ResourceReader> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(new ResourceReader(archive, i));
        }
        long start = System.nanoTime();
        threads.forEach(Thread::start);
        long looks = 0;
        long blocked = 0;
        while (System.nanoTime() < end) {
            Thread.sleep(20);
            for (Thread thread : threads) {
                looks++;
                if (thread.getState() == Thread.State.BLOCKED) {
                    blocked++;
                }
            }
        }
        stop = true;
        System.out.println("proof: megabytes=" + threads.stream().mapToLong(t -> t.megabytes).sum());
        System.out.println("proof: share_of_looks_blocked=" + (double) blocked / looks);
        file.delete();
        Runtime.getRuntime().halt(0);
    }
}
