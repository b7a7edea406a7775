import com.alibaba.csp.sentinel.Entry;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.init.InitFunc;
import java.io.File;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** The first request initialises Sentinel, which asks the configuration server; all other requests wait. */
public class Case {
    static final LongAdder waitedNanos = new LongAdder();
    static final LongAdder requests = new LongAdder();
    static int port;

    public static final class RulesFromConfigServer implements InitFunc {
        @Override
        public void init() throws Exception {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                socket.getInputStream().read();
            }
        }
    }

    static void handleRequest() {
        long start = System.nanoTime();
        try (Entry entry = SphU.entry("checkout")) {
            requests.increment();
        } catch (Exception e) {
            e.printStackTrace();
        }
        waitedNanos.add(System.nanoTime() - start);
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        // What the application's jar has: META-INF/services/com.alibaba.csp.sentinel.init.InitFunc
        File classes = Files.createTempDirectory("application").toFile();
        File services = new File(classes, "META-INF/services");
        services.mkdirs();
        File service = new File(services, InitFunc.class.getName());
        Files.write(service.toPath(), RulesFromConfigServer.class.getName().getBytes("UTF-8"));
        ClassLoader application = new URLClassLoader(new URL[] {classes.toURI().toURL()}, Case.class.getClassLoader());
        System.setProperty("csp.sentinel.spi.classloader", "context");
        System.setProperty("csp.sentinel.log.dir", classes.getPath());
        ServerSocket configServer = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        port = configServer.getLocalPort();
        Thread server = new Thread(() -> {
            try (Socket socket = configServer.accept()) {
                Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000 - 1500));
                socket.getOutputStream().write(1);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "config-server");
        server.setDaemon(true);
        server.start();
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                handleRequest();
                System.out.println("proof: " + Thread.currentThread().getName() + " first request after_s="
                        + (seconds - (end - System.nanoTime()) / 1e9));
                try {
                    while (true) {
                        handleRequest();
                        Thread.sleep(50);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }, "request-" + i);
            thread.setContextClassLoader(application);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        System.out.println("proof: waited_s=" + waitedNanos.sum() / 1e9 + " of_s=" + 8 * seconds + " requests=" + requests.sum());
        try (Stream<Path> files = Files.walk(classes.toPath())) {
            files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
        Runtime.getRuntime().halt(0);
    }
}
