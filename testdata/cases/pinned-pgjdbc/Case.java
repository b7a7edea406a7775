import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.atomic.LongAdder;

/** Each request has a virtual thread and a connection; the driver reads answers while it has its monitor. */
public class Case {
    static final LongAdder queries = new LongAdder();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        ServerSocket database = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        Thread.ofPlatform().daemon().name("database").start(() -> Database.accept(database));
        Connection[] connections = new Connection[30];
        for (int i = 0; i < connections.length; i++) {
            connections[i] = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + database.getLocalPort()
                + "/shop?user=shop&sslmode=disable&gssEncMode=disable&preferQueryMode=simple&assumeMinServerVersion=13");
        }
        long begun = System.nanoTime();
        for (int i = 0; i < connections.length; i++) {
            Connection connection = connections[i];
            Thread.ofVirtual().name("request-" + i).start(() -> serve(connection));
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: queries=" + queries + " of_50_ms most_at_once=" + Database.most
            + " virtual_threads=30 in_s=" + (System.nanoTime() - begun) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(Connection connection) {
        while (true) {
            try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT stock FROM article")) {
                result.next();
                queries.increment();
                Thread.sleep(5);
            } catch (Exception e) {
                e.printStackTrace();
                return;
            }
        }
    }
}
