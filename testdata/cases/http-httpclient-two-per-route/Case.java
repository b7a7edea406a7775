import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClientBuilder;
import org.apache.http.util.EntityUtils;

/** A clinic's threads ask one server of records; its client has two connections for each route. */
public class Case {
    static final AtomicInteger read = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        AtomicInteger number = new AtomicInteger();
        HttpServer records = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        records.setExecutor(Executors.newCachedThreadPool(r -> new Thread(r, "records-" + number.incrementAndGet())));
        records.createContext("/", exchange -> {
            pause(60);
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        records.start();
        HttpClientBuilder builder = HttpClientBuilder.create();
        if (args.length > 1) {
            builder.setMaxConnPerRoute(Integer.parseInt(args[1]));
        }
        CloseableHttpClient client = builder.build();
        String patient = "http://127.0.0.1:" + records.getAddress().getPort() + "/Patient/1";
        client.execute(new HttpGet(patient)).close(); // loads classes
        Thread[] threads = new Thread[12];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> readRecords(client, patient), "ward-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        int waiting = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            pause(100);
            for (Thread thread : threads) {
                seen++;
                waiting += thread.getState() == Thread.State.WAITING ? 1 : 0;
            }
        }
        System.out.println("proof: read=" + read);
        System.out.println("proof: mean_ms=" + nanos.get() / 1_000_000 / Math.max(1, read.get()) + " answered_in_ms=60");
        System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void readRecords(CloseableHttpClient client, String patient) {
        while (true) {
            long t = System.nanoTime();
            try (CloseableHttpResponse response = client.execute(new HttpGet(patient))) {
                EntityUtils.consume(response.getEntity());
            } catch (Exception e) {
                System.out.println(e);
            }
            nanos.addAndGet(System.nanoTime() - t);
            read.incrementAndGet();
            pause(10);
        }
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
