package tyrion.subjects;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A server that nobody calls: "main" waits for connections, a pool of threads for work, and a timer
 * ticks ten times a second. Locks are not what slows it; nothing does.
 *
 * <p>Usage: {@code java tyrion.subjects.IdleServer [SECONDS [THREADS]]}, defaults 10 and 8. Prints
 * how many connections there were.
 */
public final class IdleServer {
    private static final long TICK_MILLIS = 100;

    private final ServerSocket socket;
    private final ThreadPoolExecutor pool;
    private final Timer timer = new Timer("ticker");
    private volatile long ticks;
    private int connections;

    private IdleServer(int threads) throws Exception {
        socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        pool = new ThreadPoolExecutor(
                threads,
                threads,
                0,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                IdleServer::daemon);
        // One after the other: none waits for another one.
        for (int i = 0; i < threads; i++) {
            pool.submit(() -> {}).get();
        }
    }

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        System.out.println(new IdleServer(threads).serve(Math.round(seconds * 1000)));
    }

    private int serve(long millis) throws IOException {
        long last = millis / TICK_MILLIS;
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                tick(last);
            }
        }, TICK_MILLIS, TICK_MILLIS);
        try {
            while (true) {
                Socket client = socket.accept();
                connections++;
                pool.execute(() -> hangUp(client));
            }
        } catch (SocketException closed) {
            // It is time to go.
        }
        timer.cancel();
        // The pool goes with the JVM: were it shut down, all its threads would be woken at once
        // and wait for each other.
        return connections;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private void tick(long last) {
        ticks++;
        if (ticks == last) {
            hangUp(socket);
        }
    }

    private static void hangUp(AutoCloseable connection) {
        try {
            connection.close();
        } catch (Exception gone) {
            // Then it is closed.
        }
    }
}
