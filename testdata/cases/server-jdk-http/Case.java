import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** The JDK's HTTP server with a fixed pool of 4 threads; arguments: path and number of the clients in another process. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Clients clients = number == 0 ? null : Clients.start();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.createContext("/", new ScaleHandler()::handle);
        AtomicInteger threads = new AtomicInteger();
        server.setExecutor(Executors.newFixedThreadPool(4, task -> new Thread(task, "http-" + threads.incrementAndGet())));
        server.start();
        Clients.ask(server.getAddress().getPort(), "/thumbnail", 20);
        if (clients != null) {
            clients.begin(server.getAddress().getPort(), arguments[1], number);
        }
        Meter.end(seconds, "http-");
    }
}

class ScaleHandler {
    void handle(HttpExchange exchange) throws IOException {
        Meter.handles();
        switch (exchange.getRequestURI().getPath()) {
            case "/scale":
                Meter.compute(20);
                break;
            case "/archive":
                Meter.pause(20);
                break;
            default:
                Meter.compute(1);
        }
        Meter.handled();
        exchange.sendResponseHeaders(200, 2);
        exchange.getResponseBody().write(new byte[] {'o', 'k'});
        exchange.close();
    }
}
