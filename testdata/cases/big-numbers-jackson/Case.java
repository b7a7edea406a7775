import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.concurrent.atomic.LongAdder;

/** Requests bring numbers of 100 000 digits; a counter's lock is taken once for each of them. */
public class Case {
    static final LongAdder lockNanos = new LongAdder();
    static final LongAdder parseNanos = new LongAdder();
    static final Object usage = new Object();
    static long bodies;

    static int accept(ObjectMapper mapper, String body) throws Exception {
        long start = System.nanoTime();
        JsonNode request = mapper.readTree(body);
        int bits = request.get("amount").bigIntegerValue().bitLength();
        parseNanos.add(System.nanoTime() - start);
        start = System.nanoTime();
        synchronized (usage) {
            bodies++;
        }
        lockNanos.add(System.nanoTime() - start);
        return bits;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        ObjectMapper mapper = new ObjectMapper();
        StringBuilder digits = new StringBuilder();
        for (int i = 0; i < 100_000; i++) {
            digits.append((char) ('1' + i % 9));
        }
        String body = "{\"amount\":" + digits + "}";
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (true) {
                        accept(mapper, body);
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }, "http-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: bodies=" + bodies + " parsing_s=" + parseNanos.sum() / 1e9 + " of_s=" + 2 * measured);
        System.out.println("proof: at_the_lock_s=" + lockNanos.sum() / 1e9);
        Runtime.getRuntime().halt(0);
    }
}
