import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** As much of PostgreSQL's protocol as the driver needs; a query takes 50 ms. */
final class Database {
    static final AtomicInteger atOnce = new AtomicInteger();
    static final AtomicInteger most = new AtomicInteger();

    static void accept(ServerSocket database) {
        for (int i = 0; ; i++) {
            try {
                Socket socket = database.accept();
                Thread.ofPlatform().daemon().name("database-" + i).start(() -> answer(socket));
            } catch (IOException e) {
                return;
            }
        }
    }

    static void answer(Socket socket) {
        try {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            in.readFully(new byte[in.readInt() - 4]);
            send(out, 'R', new byte[4]);
            for (String parameter : new String[] {"server_version\00013.0", "client_encoding\0UTF8", "DateStyle\0ISO",
                "standard_conforming_strings\0on", "integer_datetimes\0on", "TimeZone\0UTC"}) {
                send(out, 'S', (parameter + "\0").getBytes());
            }
            send(out, 'K', new byte[8]);
            send(out, 'Z', new byte[] {'I'});
            while (true) {
                in.readByte();
                byte[] query = new byte[in.readInt() - 4];
                in.readFully(query);
                if (new String(query).startsWith("SELECT")) {
                    most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
                    Thread.sleep(50);
                    atOnce.decrementAndGet();
                    ByteArrayOutputStream row = new ByteArrayOutputStream();
                    DataOutputStream columns = new DataOutputStream(row);
                    columns.writeShort(1);
                    columns.writeBytes("stock\0");
                    columns.write(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 4, -1, -1, -1, -1, 0, 0});
                    send(out, 'T', row.toByteArray());
                    send(out, 'D', new byte[] {0, 1, 0, 0, 0, 1, '7'});
                }
                send(out, 'C', "SELECT 1\0".getBytes());
                send(out, 'Z', new byte[] {'I'});
            }
        } catch (Exception e) {
            System.out.println("database: " + e);
        }
    }

    static void send(DataOutputStream out, char type, byte[] body) throws IOException {
        ByteArrayOutputStream packet = new ByteArrayOutputStream();
        DataOutputStream to = new DataOutputStream(packet);
        to.writeByte(type);
        to.writeInt(body.length + 4);
        to.write(body);
        out.write(packet.toByteArray());
    }
}
