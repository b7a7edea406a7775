import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/** Helidon, which handles each request in a virtual thread; arguments: path and number of the clients in another process, which has the backend, too. */
public class Case {
    private static final List<Socket> OPEN = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = number == 0 ? null : Clients.start();
        Seats seats = new Seats(clients == null ? 0 : clients.backend);
        WebServer server = WebServer.builder().host("127.0.0.1").port(0)
                .routing(routing -> routing.any(seats::answer)).build().start();
        Clients.ask(server.port(), "/free", 20);
        // Connections that are open, and do not ask.
        for (int i = 0; i < 12; i++) {
            OPEN.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
        }
        if (clients != null) {
            clients.begin(server.port(), arguments[1], number);
        }
        Meter.end(seconds, "ForkJoinPool-1-worker");
    }
}

class Seats {
    private final Plan plan = new Plan();
    private final Airline airline;

    Seats(int port) {
        airline = new Airline(port);
    }

    void answer(ServerRequest request, ServerResponse response) throws Exception {
        Meter.handles();
        switch (request.path().path()) {
            case "/reserve":
                plan.reserve();
                break;
            case "/ask":
                airline.ask();
                break;
            case "/ask-two":
                airline.askTwoAtATime();
                break;
            default:
                Meter.pause(20);
        }
        Meter.handled();
        response.send("12A");
    }
}

class Plan {
    private final ReentrantLock lock = new ReentrantLock();

    void reserve() {
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

class Airline {
    private final Semaphore lines = new Semaphore(2);
    private final int port;

    Airline(int port) {
        this.port = port;
    }

    void ask() throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write('q');
            socket.getInputStream().read();
        }
    }

    /** The airline wants no more than two questions at a time. */
    void askTwoAtATime() throws InterruptedException {
        Meter.waits();
        lines.acquire();
        Meter.waited();
        Meter.pause(20);
        lines.release();
    }
}
