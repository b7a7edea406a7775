import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import org.apache.http.HttpHost;
import org.apache.http.HttpResponse;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.concurrent.FutureCallback;
import org.apache.http.impl.nio.client.CloseableHttpAsyncClient;
import org.apache.http.impl.nio.client.HttpAsyncClients;
import org.apache.http.impl.nio.reactor.IOReactorConfig;

/** Queries whose hits are checked in the callback, in the client's only I/O thread. */
public class Case {
    static final LongAdder queries = new LongAdder();
    static final LongAdder waitedNanos = new LongAdder();
    static CloseableHttpAsyncClient client;
    static HttpHost index;

    static ServerSocket server() throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread accept = new Thread(() -> {
            try {
                while (true) {
                    Socket socket = server.accept();
                    Thread thread = new Thread(() -> serve(socket), "index-server");
                    thread.setDaemon(true);
                    thread.start();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "index-accept");
        accept.setDaemon(true);
        accept.start();
        return server;
    }

    static void serve(Socket socket) {
        try (InputStream in = socket.getInputStream(); OutputStream out = socket.getOutputStream()) {
            byte[] request = new byte[4096];
            while (in.read(request) > 0) {
                out.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhits".getBytes("US-ASCII"));
                out.flush();
            }
        } catch (Exception e) {
            // the client has closed
        }
    }

    /** Whether the user may see the hits: asks the permission store, 30 ms. */
    static boolean mayRead(HttpResponse response) {
        try {
            Thread.sleep(30);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return response.getStatusLine().getStatusCode() == 200;
    }

    static CompletableFuture<Boolean> search(String words) {
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        client.execute(index, new HttpGet("/books/_search?q=" + words), new FutureCallback<HttpResponse>() {
            @Override
            public void completed(HttpResponse response) {
                result.complete(mayRead(response));
            }

            @Override
            public void failed(Exception e) {
                result.completeExceptionally(e);
            }

            @Override
            public void cancelled() {
                result.cancel(false);
            }
        });
        return result;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        index = new HttpHost(InetAddress.getLoopbackAddress(), server().getLocalPort());
        client = HttpAsyncClients.custom().setMaxConnPerRoute(50).setMaxConnTotal(50)
                .setDefaultIOReactorConfig(IOReactorConfig.custom().setIoThreadCount(1).build()).build();
        client.start();
        search("warm").join();
        for (int i = 0; i < 10; i++) {
            String words = "words" + i;
            Thread thread = new Thread(() -> {
                while (true) {
                    long start = System.nanoTime();
                    search(words).join();
                    waitedNanos.add(System.nanoTime() - start);
                    queries.increment();
                }
            }, "query-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: queries=" + queries.sum() + " mean_ms=" + waitedNanos.sum() / 1e6 / queries.sum() + " callback_ms=30");
        System.out.println("proof: waited_s=" + waitedNanos.sum() / 1e9 + " of_s=" + 10 * measured);
        Runtime.getRuntime().halt(0);
    }
}
