import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Speaks as much of the protocol as it takes that clients connect, and ends when its client does. */
final class SilentServer {
    public static void main(String[] arguments) throws Exception {
        Thread parent = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    continue;
                }
            } catch (java.io.IOException gone) {
                // Then it is over as well.
            }
            Runtime.getRuntime().halt(0);
        });
        parent.start();
        ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        System.out.println(server.getLocalPort());
        while (true) {
            Socket socket = server.accept();
            OutputStream out = socket.getOutputStream();
            out.write(("INFO {\"server_id\":\"silent\",\"version\":\"2.10.0\",\"proto\":1,\"host\":\"127.0.0.1\",\"port\":"
                    + server.getLocalPort() + ",\"max_payload\":1048576}\r\n").getBytes());
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            for (String line; (line = in.readLine()) != null;) {
                if (line.startsWith("PING")) {
                    out.write("PONG\r\n".getBytes());
                }
            }
        }
    }
}
