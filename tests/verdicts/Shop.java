import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.modeler.Registry;
import tyrion.support.Json;
import tyrion.support.Measurement;
import tyrion.support.Pace;

/**
 * An embedded Tomcat with eight request threads, all of which want one cache of prices, and eight
 * clients that keep their connections.
 *
 * <p>Usage: {@code java Shop [SECONDS [WARMUP]]}, defaults 10 and 0. Prints one JSON object, about
 * the requests that were answered in the time after the warm-up.
 */
public final class Shop {
    private static final int EACH = 8;

    private final LongAdder answered = new LongAdder();
    private volatile boolean stopping;

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        double warmupSeconds = args.length > 1 ? Double.parseDouble(args[1]) : 0;
        System.out.println(new Shop().run(seconds, warmupSeconds));
        System.exit(0);
    }

    private Json run(double seconds, double warmupSeconds) throws Exception {
        int port = serve();
        Thread[] clients = new Thread[EACH];
        for (int i = 0; i < EACH; i++) {
            int nth = i;
            clients[i] = new Thread(() -> order(port, nth), "client-" + i);
            clients[i].start();
        }
        Measurement measured = Measurement.of(warmupSeconds, seconds, answered::sum);
        stopping = true;
        for (Thread client : clients) {
            client.join(2_000);
        }
        return new Json()
                .put("subject", "Shop")
                .put("requests", measured.count)
                .put("requests_per_second", measured.perSecond())
                .put("requests_per_cpu_second", measured.perCpuSecond())
                .put("process_cpu_ns", measured.cpuNanos)
                .put("wall_ns", measured.wallNanos);
    }

    private static int serve() throws Exception {
        Registry.disableRegistry();
        Tomcat tomcat = new Tomcat();
        tomcat.setSilent(true);
        tomcat.setBaseDir(Files.createTempDirectory("shop").toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", Integer.toString(EACH));
        tomcat.getConnector().setProperty("minSpareThreads", Integer.toString(EACH));
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "cart", new Cart());
        context.addServletMappingDecoded("/*", "cart");
        tomcat.start();
        return tomcat.getConnector().getLocalPort();
    }

    private void order(int port, int nth) {
        Pace.Turns turns = Pace.turns(nth, EACH);
        byte[] request = ("GET /" + nth + " HTTP/1.1\r\nHost: shop\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            OutputStream out = socket.getOutputStream();
            InputStream in = socket.getInputStream();
            while (!stopping) {
                turns.await();
                out.write(request);
                readAnswer(in);
                turns.done();
                answered.increment();
            }
        } catch (IOException e) {
            // Without all its clients the measurement means nothing.
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    /** Up to the last byte of the body, whose length is known. */
    private static void readAnswer(InputStream in) throws IOException {
        int newlines = 0;
        while (newlines < 4) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("the server has closed the connection");
            }
            newlines = next == '\r' || next == '\n' ? newlines + 1 : 0;
        }
        if (in.readNBytes(Cart.LENGTH).length < Cart.LENGTH) {
            throw new IOException("half an answer");
        }
    }

    /** What twenty articles cost. */
    private static final class Cart extends HttpServlet {
        static final int LENGTH = 12;
        private static final int ARTICLES = 20;

        private final Prices prices = new Prices();

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            SplittableRandom random = new SplittableRandom(System.nanoTime());
            long cents = 0;
            for (int i = 0; i < ARTICLES; i++) {
                cents += prices.of(random.nextInt(Prices.ARTICLES));
            }
            response.setContentLength(LENGTH);
            PrintWriter writer = response.getWriter();
            writer.printf("%0" + LENGTH + "d", cents);
        }
    }

    /** The last used prices, behind one monitor; others are computed while that is held. */
    private static final class Prices {
        static final int ARTICLES = 4096;
        private static final int KEPT = 3800;

        private final Map<Integer, Long> lastUsed =
                new LinkedHashMap<Integer, Long>(ARTICLES, 0.75f, true) {
                    @Override
                    protected boolean removeEldestEntry(Map.Entry<Integer, Long> eldest) {
                        return size() > KEPT;
                    }
                };

        synchronized long of(int article) {
            return lastUsed.computeIfAbsent(article, Prices::compute);
        }

        private static long compute(int article) {
            long price = article;
            for (int i = 0; i < 2_000; i++) {
                price = price * 6364136223846793005L + 1442695040888963407L;
            }
            return (price >>> 1) % 100_000;
        }
    }
}
