import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.locks.ReentrantLock;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty with 12 threads, reserved ones among them; arguments: path, each how many milliseconds, or how many ask again once they have an answer. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        long millis = Long.parseLong(arguments[2]);
        Meter.start(seconds);
        QueuedThreadPool pool = new QueuedThreadPool(12, 12);
        pool.setReservedThreads(3);
        Server server = new Server(pool);
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new PriceServlet()), "/*");
        server.setHandler(context);
        server.start();
        String base = "http://127.0.0.1:" + connector.getLocalPort();
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest price = HttpRequest.newBuilder(URI.create(base + "/price")).build();
        for (int i = 0; i < 20; i++) {
            client.send(price, BodyHandlers.ofString());
        }
        HttpRequest request = HttpRequest.newBuilder(URI.create(base + arguments[1])).build();
        for (int i = 0; i < Integer.parseInt(arguments[3]); i++) {
            askAgain(client, request);
        }
        if (millis > 0) {
            Meter.each(millis, "customers", () -> client.sendAsync(request, BodyHandlers.ofString()));
        }
        Meter.end(seconds, "qtp");
    }

    /** No thread waits for the answer. */
    private static void askAgain(HttpClient client, HttpRequest request) {
        client.sendAsync(request, BodyHandlers.ofString()).thenRun(() -> askAgain(client, request));
    }
}

class PriceServlet extends HttpServlet {
    private final PriceList prices = new PriceList();
    private final Partner partner = new Partner();

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        Meter.handles();
        switch (request.getRequestURI()) {
            case "/partner":
                partner.ask();
                break;
            case "/change":
                prices.change();
                break;
            default:
                Meter.pause(20);
        }
        Meter.handled();
        response.getWriter().print("9.99");
    }
}

class PriceList {
    private final ReentrantLock lock = new ReentrantLock();

    void change() {
        Meter.waits();
        lock.lock();
        Meter.waited();
        try {
            Meter.pause(20);
        } finally {
            lock.unlock();
        }
    }
}

/** A partner whose server listens, but never answers. */
class Partner {
    private final ServerSocket deaf;

    Partner() {
        try {
            deaf = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    void ask() throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), deaf.getLocalPort())) {
            socket.getOutputStream().write('?');
            socket.getInputStream().read();
        }
    }
}
