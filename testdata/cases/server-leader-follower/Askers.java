import java.io.File;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketTimeoutException;

/** Clients in a process of their own; each asks again once it has its answer. */
final class Askers {
    private static Process process;

    private Askers() {
    }

    static void start(int port, int number) throws IOException {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        ProcessBuilder builder = new ProcessBuilder(java, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), "Askers", "" + port, "" + number);
        // What the server's JVM is told is not meant for its clients.
        builder.environment().keySet().removeIf(name -> name.endsWith("JAVA_OPTIONS") || name.equals("JAVA_TOOL_OPTIONS"));
        process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** Until its input ends, which it does when the server ends. */
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            Thread thread = new Thread(() -> ask(Integer.parseInt(arguments[0]), Long.MAX_VALUE));
            thread.setDaemon(true);
            thread.start();
        }
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    static void ask(int port, long times) {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            socket.setSoTimeout(2000);
            DatagramPacket packet = new DatagramPacket(new byte[16], 16, InetAddress.getLoopbackAddress(), port);
            for (long i = 0; i < times; i++) {
                socket.send(packet);
                try {
                    socket.receive(packet);
                } catch (SocketTimeoutException lost) {
                    continue;
                }
            }
        } catch (IOException failed) {
            failed.printStackTrace();
        }
    }
}
