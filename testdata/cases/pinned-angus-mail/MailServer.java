import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** Looks at each mail for 50 ms. */
final class MailServer {
    static final AtomicInteger atOnce = new AtomicInteger();
    static final AtomicInteger most = new AtomicInteger();

    static void receive(Socket socket) {
        try {
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            OutputStream out = socket.getOutputStream();
            out.write("220 mail\r\n".getBytes());
            boolean data = false;
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals(".")) {
                    data = false;
                    most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
                    Thread.sleep(50);
                    atOnce.decrementAndGet();
                } else if (data) {
                    continue;
                }
                data = line.equals("DATA");
                out.write((data ? "354 go on\r\n" : "250 ok\r\n").getBytes());
            }
        } catch (Exception e) {
            System.out.println("mail server: " + e);
        }
    }
}
