import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;
import org.glassfish.grizzly.http.server.Request;
import org.glassfish.grizzly.http.server.Response;
import org.glassfish.grizzly.threadpool.ThreadPoolConfig;

/** Grizzly with 8 worker threads; arguments: path and number of the clients in another process, which has the partner that is asked, too. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = number == 0 ? null : Clients.start();
        HttpServer server = new HttpServer();
        NetworkListener listener = new NetworkListener("rooms", "127.0.0.1", 0);
        listener.getTransport().setSelectorRunnersCount(1);
        listener.getTransport().setWorkerThreadPoolConfig(
                ThreadPoolConfig.defaultConfig().setPoolName("rooms").setCorePoolSize(8).setMaxPoolSize(8));
        listener.getKeepAlive().setMaxRequestsCount(-1);
        server.addListener(listener);
        server.getServerConfiguration().addHttpHandler(new Rooms(clients == null ? 0 : clients.backend), "/");
        server.start();
        Clients.ask(listener.getPort(), "/free", 40);
        if (clients != null) {
            clients.begin(listener.getPort(), arguments[1], number);
        }
        Meter.end(seconds, "rooms");
    }
}

class Rooms extends HttpHandler {
    private final Bookings bookings = new Bookings();
    private final int partner;

    Rooms(int partner) {
        this.partner = partner;
    }

    @Override
    public void service(Request request, Response response) throws IOException {
        Meter.handles();
        switch (request.getRequestURI()) {
            case "/book":
                bookings.add();
                break;
            case "/partner":
                askPartner();
                break;
            default:
                Meter.pause(20);
        }
        Meter.handled();
        response.setContentLength(2);
        response.getWriter().write("17");
    }

    /** The partner does not know this question, and does not answer. */
    private void askPartner() throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), partner)) {
            socket.getOutputStream().write('?');
            socket.getInputStream().read();
        }
    }
}

class Bookings {
    private int bookings;

    void add() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(20);
            bookings++;
        }
    }
}
