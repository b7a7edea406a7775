import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.xnio.Options;

/** Undertow with 8 XNIO worker threads; arguments: path and number of the clients in another process, which has the backend, too. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = number == 0 ? null : Clients.start();
        StockHandler handler = new StockHandler(clients == null ? 0 : clients.backend);
        Undertow server = Undertow.builder()
                .addHttpListener(0, "127.0.0.1")
                .setIoThreads(2)
                .setWorkerOption(Options.WORKER_TASK_CORE_THREADS, 8)
                .setWorkerOption(Options.WORKER_TASK_MAX_THREADS, 8)
                .setHandler(new BlockingHandler(handler::handle))
                .build();
        server.start();
        int port = ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
        Clients.ask(port, "/count", 20);
        if (clients != null) {
            clients.begin(port, arguments[1], number);
        }
        Meter.end(seconds, " task-");
    }
}

class StockHandler {
    private final SessionStore sessions = new SessionStore();
    private final ThreadLocal<Socket> backend;

    StockHandler(int port) {
        backend = ThreadLocal.withInitial(() -> {
            try {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                socket.setTcpNoDelay(true);
                return socket;
            } catch (IOException failed) {
                throw new IllegalStateException(failed);
            }
        });
    }

    void handle(HttpServerExchange exchange) throws IOException {
        Meter.handles();
        switch (exchange.getRequestPath()) {
            case "/stock":
                askBackend();
                break;
            case "/basket":
                sessions.save();
                break;
            default:
                Meter.pause(5);
        }
        Meter.handled();
        exchange.getResponseSender().send("42");
    }

    private void askBackend() throws IOException {
        backend.get().getOutputStream().write('q');
        backend.get().getInputStream().read();
    }
}

/** Has all sessions in one file. */
class SessionStore {
    synchronized void write() {
        Meter.waited();
        Meter.pause(5);
    }

    void save() {
        Meter.waits();
        write();
    }
}
