import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;

/** Armeria with 8 threads for tasks that block; arguments: path and number of the clients in another process, which has the backend, too, and each how many milliseconds this process asks. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        int millis = Integer.parseInt(arguments[3]);
        Meter.start(seconds);
        Clients clients = number == 0 ? null : Clients.start();
        Tickets tickets = new Tickets(clients == null ? 0 : clients.backend);
        Server server = Server.builder()
                .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .workerGroup(2)
                .blockingTaskExecutor(8)
                .requestTimeoutMillis(0)
                .service("prefix:/", (context, request) -> tickets.answer(context))
                .build();
        server.start().join();
        int port = server.activeLocalPort();
        for (int i = 0; i < 8; i++) {
            server.config().blockingTaskExecutor().execute(tickets::sell);
        }
        Clients.ask(port, "/sell", 20);
        if (clients != null) {
            clients.begin(port, arguments[1], number);
        }
        if (millis > 0) {
            WebClient client = WebClient.of("http://127.0.0.1:" + port);
            client.get(arguments[1]).aggregate().join();
            Meter.each(millis, "visitors", () -> client.get(arguments[1]).aggregate());
        }
        Meter.end(seconds, "blocking-tasks");
    }
}

class Tickets {
    private final Hall hall = new Hall();
    private final int backend;

    Tickets(int backend) {
        this.backend = backend;
    }

    HttpResponse answer(ServiceRequestContext context) {
        return HttpResponse.of(CompletableFuture.supplyAsync(() -> answer(context.path()), context.blockingTaskExecutor()));
    }

    private HttpResponse answer(String path) {
        switch (path) {
            case "/reserve":
                Meter.handles();
                hall.reserve();
                Meter.handled();
                break;
            case "/bank":
                Meter.handles();
                askBank();
                Meter.handled();
                break;
            default:
                sell();
        }
        return HttpResponse.of("7");
    }

    void sell() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    /** The bank does not know this question, and does not answer. */
    private void askBank() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), backend)) {
            socket.getOutputStream().write('?');
            socket.getInputStream().read();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}

class Hall {
    private int seats;

    synchronized void take() {
        Meter.waited();
        Meter.pause(20);
        seats++;
    }

    void reserve() {
        Meter.waits();
        take();
    }
}
