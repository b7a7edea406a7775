package tyrion.sampling;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

/** What the threads meet at. */
final class Stage {
    final Object monitor = new Object();
    final ReentrantLock lock = new ReentrantLock();
    final Selector selector = Selector.open();
    final Socket near;
    final Socket far;
    final Pool pool = new Pool();
    final ExecutorService tasks = Executors.newFixedThreadPool(1, pool);
    volatile boolean isOver;

    Stage() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            near = new Socket(server.getInetAddress(), server.getLocalPort());
            far = server.accept();
        }
    }

    /** Ends what waits for something from outside. */
    void close() throws IOException {
        isOver = true;
        far.close();
        selector.wakeup();
        tasks.shutdown();
    }
}
