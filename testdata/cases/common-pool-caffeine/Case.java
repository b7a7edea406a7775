import com.github.benmanes.caffeine.cache.AsyncLoadingCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
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
        priceServer();
        AsyncLoadingCache<Integer, Integer> prices = Caffeine.newBuilder().maximumSize(100).buildAsync(Case::fetchPrice);
        prices.get(0).join();
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
        }
        Thread.sleep(seconds * 1000L);
        System.out.println("proof: loads=" + gets.sum() + " mean_wait_ms=" + waitedNanos.sum() / 1e6 / gets.sum() + " load_ms=40");
        System.out.println("proof: waited_s=" + waitedNanos.sum() / 1e9 + " of_s=" + 16 * seconds);
        Runtime.getRuntime().halt(0);
    }
}
