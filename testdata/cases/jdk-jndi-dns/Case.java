import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.Hashtable;
import java.util.concurrent.atomic.LongAdder;
import javax.naming.Context;
import javax.naming.directory.DirContext;
import javax.naming.directory.InitialDirContext;

/** Service look-ups share one DNS context; its client sends one question at a time. */
public class Case {
    static final LongAdder lookups = new LongAdder();
    static final LongAdder waitedNanos = new LongAdder();
    static final long ANSWER_MS = 25;

    /** Answers each question after 25 ms, many at a time, that there is no such name. */
    static int nameServer() throws Exception {
        DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
        Thread receive = new Thread(() -> {
            try {
                while (true) {
                    DatagramPacket packet = new DatagramPacket(new byte[512], 512);
                    socket.receive(packet);
                    Thread answer = new Thread(() -> {
                        try {
                            Thread.sleep(ANSWER_MS);
                            packet.getData()[2] |= (byte) 0x84; // an answer, with authority
                            packet.getData()[3] = (byte) 0x03; // no such name
                            socket.send(packet);
                        } catch (Exception e) {
                            e.printStackTrace();
                        }
                    }, "name-server-answer");
                    answer.setDaemon(true);
                    answer.start();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "name-server");
        receive.setDaemon(true);
        receive.start();
        return socket.getLocalPort();
    }

    static void resolve(DirContext dns, String name) {
        long start = System.nanoTime();
        try {
            dns.getAttributes(name, new String[] {"SRV"});
        } catch (javax.naming.NamingException e) {
            // not registered
        }
        waitedNanos.add(System.nanoTime() - start);
        lookups.increment();
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
        environment.put(Context.PROVIDER_URL, "dns://127.0.0.1:" + nameServer() + "/");
        DirContext dns = new InitialDirContext(environment);
        resolve(dns, "_warm._tcp.example");
        for (int i = 0; i < 8; i++) {
            String name = "_service" + i + "._tcp.example";
            Thread thread = new Thread(() -> {
                while (true) {
                    resolve(dns, name);
                }
            }, "discovery-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: lookups=" + lookups.sum() + " mean_ms=" + waitedNanos.sum() / 1e6 / lookups.sum() + " answer_ms=" + ANSWER_MS + " in_s=" + measured);
        Runtime.getRuntime().halt(0);
    }
}
