import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What a command in a pod prints comes by a web socket, and goes through a pipe to who reads it. */
public class Case {
    static final AtomicInteger chunks = new AtomicInteger();
    static final AtomicLong lateNanos = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        boolean flushing = args.length > 1 && args[1].equals("flush");
        for (int i = 0; i < 4; i++) {
            PipedOutputStream fromSocket = new PipedOutputStream();
            PipedInputStream toReader = new PipedInputStream(fromSocket);
            AtomicLong written = new AtomicLong();
            start("web-socket-" + i, () -> {
                while (true) {
                    Thread.sleep(100); // until a frame comes
                    written.compareAndSet(0, System.nanoTime());
                    fromSocket.write("a line of output\n".getBytes());
                    if (flushing) {
                        fromSocket.flush();
                    }
                }
            });
            start("log-reader-" + i, () -> read(toReader, written));
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: reads=" + chunks);
        System.out.println("proof: mean_ms_from_write_to_read=" + lateNanos.get() / 1e6 / Math.max(1, chunks.get()));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void read(InputStream output, AtomicLong written) throws Exception {
        byte[] buffer = new byte[512];
        while (output.read(buffer) >= 0) {
            long since = written.getAndSet(0);
            if (since != 0) {
                lateNanos.addAndGet(System.nanoTime() - since);
                chunks.incrementAndGet();
            }
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
