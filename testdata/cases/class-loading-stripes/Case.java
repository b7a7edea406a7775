import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import net.sourceforge.stripes.util.ReflectUtil;

/** Each request looks for a class that a mapping names wrongly; the web application's loader has one lock. */
public class Case {
    static final LongAdder requests = new LongAdder();
    static final LongAdder lookedNanos = new LongAdder();

    /** Like those of servlet containers, not capable of loading in parallel. */
    static final class WebAppClassLoader extends URLClassLoader {
        WebAppClassLoader(URL classes) {
            super(new URL[] {classes}, Case.class.getClassLoader());
        }
    }

    /** Where the application's classes are; it takes 10 ms to say that there is no such class. */
    static int classServer() throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread accept = new Thread(() -> {
            try {
                while (true) {
                    Socket socket = server.accept();
                    Thread thread = new Thread(() -> serve(socket), "class-server");
                    thread.setDaemon(true);
                    thread.start();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "class-server-accept");
        accept.setDaemon(true);
        accept.start();
        return server.getLocalPort();
    }

    static void serve(Socket socket) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), "US-ASCII"));
                OutputStream out = socket.getOutputStream()) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.isEmpty()) {
                    Thread.sleep(10);
                    out.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".getBytes("US-ASCII"));
                    out.flush();
                }
            }
        } catch (Exception e) {
            // the client has closed
        }
    }

    static void convertParameter(String type) {
        long start = System.nanoTime();
        try {
            ReflectUtil.findClass(type);
        } catch (ClassNotFoundException e) {
            // the mapping is wrong, and the parameter stays a string
        }
        lookedNanos.add(System.nanoTime() - start);
        requests.increment();
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        ClassLoader application = new WebAppClassLoader(new URL("http", "127.0.0.1", classServer(), "/classes/"));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String type = "com.shop.web.Cart" + i;
            Thread thread = new Thread(() -> {
                while (true) {
                    convertParameter(type);
                }
            }, "request-" + i);
            thread.setContextClassLoader(application);
            thread.setDaemon(true);
            threads.add(thread);
        }
        long begun = System.nanoTime();
        threads.forEach(Thread::start);
        long looks = 0;
        long blocked = 0;
        while (System.nanoTime() < end) {
            Thread.sleep(50);
            for (Thread thread : threads) {
                looks++;
                blocked += thread.getState() == Thread.State.BLOCKED ? 1 : 0;
            }
        }
        System.out.println("proof: lookups=" + requests.sum() + " looked_s=" + lookedNanos.sum() / 1e9 + " of_s=" + 8 * (System.nanoTime() - begun) / 1e9);
        System.out.println("proof: share_of_looks_blocked=" + (double) blocked / looks);
        Runtime.getRuntime().halt(0);
    }
}
