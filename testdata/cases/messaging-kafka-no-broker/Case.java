import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Requests send an event each, asynchronously as they believe; the broker is down. */
public class Case {
    static final AtomicInteger sent = new AtomicInteger();
    static final AtomicInteger failed = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        ServerSocket free = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        int port = free.getLocalPort();
        free.close(); // nobody listens there
        Properties settings = new Properties();
        settings.put("bootstrap.servers", "127.0.0.1:" + port);
        settings.put("max.block.ms", "1500"); // 60000 if one does not say
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(producer), "event-loop-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        int waiting = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            Thread.sleep(100);
            for (Thread thread : threads) {
                seen++;
                for (StackTraceElement element : thread.getStackTrace()) {
                    waiting += element.getMethodName().equals("awaitUpdate") ? 1 : 0;
                }
            }
        }
        System.out.println("proof: sent=" + sent + " timed_out=" + failed);
        System.out.printf("proof: seconds_in_send=%.1f by %d threads%n", nanos.get() / 1e9, threads.length);
        System.out.println("proof: in_awaitUpdate_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(KafkaProducer<String, String> producer) {
        while (true) {
            long t = System.nanoTime();
            // Does not throw: what went wrong is in the future.
            producer.send(new ProducerRecord<>("visits", "somebody came"), (metadata, e) -> {
                (e == null ? sent : failed).incrementAndGet();
            });
            nanos.addAndGet(System.nanoTime() - t);
            try {
                Thread.sleep(20); // answers the request
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
