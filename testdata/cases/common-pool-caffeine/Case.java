import com.github.benmanes.caffeine.cache.AsyncLoadingCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** A cache without an executor of its own loads prices over the network, in the common pool. */
public class Case {
    static final LongAdder gets = new LongAdder();
    static final LongAdder waitedNanos = new LongAdder();
    static int port;

    /** Answers each byte after 40 ms. */
    static void priceServer() throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        port = server.getLocalPort();
        Thread accept = new Thread(() -> {
            try {
                while (true) {
                    Socket socket = server.accept();
                    Thread thread = new Thread(() -> {
                        try (InputStream in = socket.getInputStream(); OutputStream out = socket.getOutputStream()) {
                            for (int read = in.read(); read >= 0; read = in.read()) {
                                Thread.sleep(40);
                                out.write(read);
                            }
                        } catch (Exception e) {
                            // the client has closed
                        }
                    }, "price-server");
                    thread.setDaemon(true);
                    thread.start();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "price-accept");
        accept.setDaemon(true);
        accept.start();
    }

    static Integer fetchPrice(Integer article) throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write(article & 127);
            return socket.getInputStream().read();
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        priceServer();
        AsyncLoadingCache<Integer, Integer> prices = Caffeine.newBuilder().maximumSize(100).buildAsync(Case::fetchPrice);
        prices.get(0).join();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    int article = ThreadLocalRandom.current().nextInt(1_000_000);
                    long start = System.nanoTime();
                    prices.get(article).join();
                    waitedNanos.add(System.nanoTime() - start);
                    gets.increment();
                }
            }, "checkout-" + i);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        long looks = 0;
        long waiting = 0;
        long begun = System.nanoTime();
        while (System.nanoTime() < end) {
            Thread.sleep(50);
            for (Thread thread : threads) {
                looks++;
                waiting += thread.getState() == Thread.State.WAITING ? 1 : 0;
            }
        }
        System.out.println("proof: loads=" + gets.sum() + " mean_wait_ms=" + waitedNanos.sum() / 1e6 / gets.sum() + " load_ms=40 in_s=" + (System.nanoTime() - begun) / 1e9);
        System.out.println("proof: share_of_looks_waiting=" + (double) waiting / looks);
        Runtime.getRuntime().halt(0);
    }
}
