import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Pages need stock figures of another service; OkHttp asks one host five times at once, no more. */
public class Case {
    static final AtomicInteger asked = new AtomicInteger();
    static final AtomicLong waitNanos = new AtomicLong();
    static final AtomicInteger atServer = new AtomicInteger();
    static final AtomicInteger mostAtServer = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        AtomicInteger number = new AtomicInteger();
        HttpServer stock = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        stock.setExecutor(Executors.newCachedThreadPool(r -> new Thread(r, "stock-" + number.incrementAndGet())));
        stock.createContext("/", exchange -> {
            mostAtServer.accumulateAndGet(atServer.incrementAndGet(), Math::max);
            pause(100);
            atServer.decrementAndGet();
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        stock.start();
        OkHttpClient client = new OkHttpClient();
        if (args.length > 1) {
            client.dispatcher().setMaxRequestsPerHost(Integer.parseInt(args[1]));
        }
        Request request = new Request.Builder().url("http://127.0.0.1:" + stock.getAddress().getPort() + "/").build();
        client.newCall(request).execute().close(); // loads classes
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> servePages(client, request), "page-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        pause(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: asked=" + asked + " most_at_server=" + mostAtServer);
        System.out.println("proof: mean_wait_ms=" + waitNanos.get() / 1_000_000 / Math.max(1, asked.get()) + " answered_in_ms=100");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void servePages(OkHttpClient client, Request request) {
        while (true) {
            long t = System.nanoTime();
            CompletableFuture<Integer> answer = new CompletableFuture<>();
            client.newCall(request).enqueue(new Callback() {
                @Override
                public void onResponse(Call call, Response response) {
                    response.close();
                    answer.complete(response.code());
                }

                @Override
                public void onFailure(Call call, IOException e) {
                    answer.completeExceptionally(e);
                }
            });
            answer.join();
            waitNanos.addAndGet(System.nanoTime() - t);
            asked.incrementAndGet();
            pause(5); // renders the page
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
