import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** HTTP clients, and the backend that the server asks, in a process of their own. */
final class Clients {
    private final Process process;
    private final PrintStream orders;
    final int backend;

    private Clients() throws IOException {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        ProcessBuilder builder = new ProcessBuilder(java, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), "Clients");
        // What the server's JVM is told is not meant for its clients.
        builder.environment().keySet().removeIf(name -> name.endsWith("JAVA_OPTIONS") || name.equals("JAVA_TOOL_OPTIONS"));
        process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
        orders = new PrintStream(process.getOutputStream(), true);
        backend = Integer.parseInt(new BufferedReader(new InputStreamReader(process.getInputStream())).readLine());
    }

    static Clients start() throws IOException {
        return new Clients();
    }

    /** Each client asks again once it has its answer. */
    void begin(int port, String path, int number) {
        orders.println(port + " " + path + " " + number);
    }

    /** Until its input ends, which it does when the server ends. */
    public static void main(String[] arguments) throws Exception {
        ServerSocket backend = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        thread(() -> {
            while (true) {
                Socket socket = backend.accept();
                thread(() -> serve(socket));
            }
        });
        System.out.println(backend.getLocalPort());
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String order; (order = orders.readLine()) != null;) {
            String[] words = order.split(" ");
            for (int i = 0; i < Integer.parseInt(words[2]); i++) {
                thread(() -> ask(Integer.parseInt(words[0]), words[1], Long.MAX_VALUE));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    /** The backend answers each byte after 5 milliseconds, but those that it does not know never. */
    private static void serve(Socket socket) throws Exception {
        for (int question; (question = socket.getInputStream().read()) >= 0;) {
            if (question == 'q') {
                Thread.sleep(5);
                socket.getOutputStream().write('a');
            }
        }
    }

    static void ask(int port, String path, long times) throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            byte[] request = ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes();
            InputStream in = new BufferedInputStream(socket.getInputStream());
            for (long i = 0; i < times; i++) {
                socket.getOutputStream().write(request);
                answer(in);
            }
        }
    }

    /** Reads an answer whose body has the length that its head says. */
    private static void answer(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("the server has closed: " + head);
            }
            head.append((char) next);
        }
        String lower = head.toString().toLowerCase();
        int at = lower.indexOf("content-length:");
        int length = at < 0 ? 0 : Integer.parseInt(lower.substring(at + 15, lower.indexOf('\r', at)).trim());
        in.readNBytes(length);
    }

    interface Body {
        void run() throws Exception;
    }

    private static void thread(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception ended) {
                // The server has ended, or the process does.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
