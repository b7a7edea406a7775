import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.java_websocket.WebSocket;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;

/** A chat server is stopped while one of its users leaves. */
public class Case {
    static final int USERS = 40;

    static final class ChatServer extends WebSocketServer {
        final CountDownLatch all = new CountDownLatch(USERS);
        final CountDownLatch first = new CountDownLatch(1);

        ChatServer(int port) {
            super(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        }

        @Override
        public void onOpen(WebSocket user, ClientHandshake handshake) {
            all.countDown();
        }

        @Override
        public void onCloseInitiated(WebSocket user, int code, String reason) {
            first.countDown();
            try {
                Thread.sleep(25); // saves what the user has not read yet
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void onClose(WebSocket user, int code, String reason, boolean remote) {
        }

        @Override
        public void onMessage(WebSocket user, String message) {
        }

        @Override
        public void onError(WebSocket user, Exception e) {
        }
    }

    static Socket join(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        OutputStream out = socket.getOutputStream();
        out.write(("GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").getBytes("US-ASCII"));
        out.flush();
        socket.getInputStream().read(new byte[512]);
        return socket;
    }

    static String state(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        return thread.getName() + " " + thread.getState() + " at " + (stack.length > 0 ? stack[0] : "");
    }

    /** Whether the shutdown came to its end. */
    static boolean runOneServer(long start, long end) throws Exception {
        int port;
        try (java.net.ServerSocket free = new java.net.ServerSocket(0)) {
            port = free.getLocalPort();
        }
        ChatServer server = new ChatServer(port);
        Thread selector = new Thread(server, "chat-selector");
        selector.setDaemon(true);
        selector.start();
        List<Socket> users = new ArrayList<>();
        while (users.size() < USERS) {
            try {
                users.add(join(port));
            } catch (java.net.ConnectException e) {
                Thread.sleep(10); // not listening yet
            }
        }
        server.all.await();
        Thread stop = new Thread(() -> {
            try {
                server.stop(1000);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "shutdown");
        stop.setDaemon(true);
        stop.start();
        server.first.await();
        for (Socket user : users) {
            user.close(); // sees that the server goes, and leaves
        }
        stop.join(1300);
        if (!stop.isAlive()) {
            return true;
        }
        System.out.println("proof: after_s=" + (System.nanoTime() - start) / 1e9 + " " + state(stop) + ", " + state(selector));
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        System.out.println("proof: after_s=" + (System.nanoTime() - start) / 1e9 + " " + state(stop) + ", " + state(selector));
        return false;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long start = System.nanoTime();
        long end = start + seconds * 1_000_000_000L;
        while (System.nanoTime() < end && runOneServer(start, end)) {
            System.out.println("proof: stopped well, once more");
        }
        long[] deadlocked = java.lang.management.ManagementFactory.getThreadMXBean().findDeadlockedThreads();
        System.out.println("proof: deadlocked_threads=" + (deadlocked == null ? 0 : deadlocked.length));
        Runtime.getRuntime().halt(0);
    }
}
