import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;

/** Leaves the socket open when it stops answering. */
final class MailServer {
    static void receive(Socket socket, long until) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        OutputStream out = socket.getOutputStream();
        out.write("220 mail\r\n".getBytes());
        boolean data = false;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (data && !line.equals(".")) {
                continue;
            }
            if (data && System.nanoTime() > until) {
                return;
            }
            data = line.equals("DATA");
            out.write((data ? "354 go on\r\n" : "250 ok\r\n").getBytes());
        }
    }
}
