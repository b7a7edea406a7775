import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

/** A virtual thread for each connection; arguments: path and number of the clients in another process, which has the backend, too. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = Clients.start();
        ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        ChatServer chat = new ChatServer(clients.backend);
        Meter.thread("acceptor", () -> chat.accept(server));
        Clients.ask(server.getLocalPort(), "/say", 20);
        // Connections that are open, and do not ask: their threads wait for a request.
        for (int i = 0; i < 20; i++) {
            new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
        }
        clients.begin(server.getLocalPort(), arguments[1], number);
        Meter.end(seconds, "ForkJoinPool-1-worker");
    }
}

class ChatServer {
    private final History history = new History();
    private final int backend;

    ChatServer(int backend) {
        this.backend = backend;
    }

    void accept(ServerSocket server) throws IOException {
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        while (true) {
            Socket socket = server.accept();
            executor.submit(() -> serve(socket));
        }
    }

    private Void serve(Socket socket) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        for (String line; (line = in.readLine()) != null;) {
            while (!in.readLine().isEmpty()) {
                continue;
            }
            Meter.handles();
            answer(line.split(" ")[1]);
            Meter.handled();
            socket.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".getBytes());
        }
        return null;
    }

    private void answer(String path) throws IOException {
        switch (path) {
            case "/keep":
                history.append();
                break;
            case "/translate":
                ask('q');
                break;
            case "/lost":
                ask('?');
                break;
            default:
                Meter.pause(20);
        }
    }

    private void ask(int question) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), backend)) {
            socket.getOutputStream().write(question);
            socket.getInputStream().read();
        }
    }
}

class History {
    private final ReentrantLock lock = new ReentrantLock();

    void append() {
        Meter.waits();
        lock.lock();
        Meter.waited();
        try {
            Meter.pause(5);
        } finally {
            lock.unlock();
        }
    }
}
