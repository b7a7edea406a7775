import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;

/** As much of MQTT 3.1.1 as lamps need: CONNACK, PUBACK for QoS 1, and a command each 100 ms. */
final class Broker {
    static void acknowledge(Socket socket) throws Exception {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        OutputStream out = socket.getOutputStream();
        while (true) {
            int header = in.readUnsignedByte();
            int type = header >> 4;
            byte[] body = new byte[in.readUnsignedByte()];
            in.readFully(body);
            if (type == 1) {
                send(out, 0x20, 2, 0, 0);
                Case.thread("broker-commands", () -> {
                    while (true) {
                        Thread.sleep(100);
                        send(out, 0x30, 5, 0, 2, 'o', 'n', '!');
                        Case.commands.incrementAndGet();
                    }
                });
            } else if (type == 3 && (header & 6) != 0) {
                int topic = body[1];
                send(out, 0x40, 2, body[2 + topic], body[3 + topic]);
            }
        }
    }

    static void send(OutputStream out, int... bytes) throws IOException {
        byte[] packet = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            packet[i] = (byte) bytes[i];
        }
        out.write(packet);
    }
}
