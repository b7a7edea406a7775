import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;
import tyrion.support.Json;
import tyrion.support.Measurement;
import tyrion.support.Pace;

/**
 * An embedded ActiveMQ: four producers and four consumers of one queue, which keeps messages in
 * memory alone.
 *
 * <p>Usage: {@code java Broker [SECONDS [WARMUP]]}, defaults 10 and 0. Prints one JSON object, about
 * the messages that were received in the time after the warm-up. With the property {@code
 * broker.room=MB} producers wait while the broker has so much of messages; without it that is 1 GB,
 * which takes most of a minute to fill. Its class path has the test subjects' classes, too.
 */
public final class Broker {
    private static final int EACH = 4;

    private interface Work {
        void run(Session session, Queue queue) throws JMSException;
    }

    private volatile boolean stopping;
    private final List<Thread> threads = new ArrayList<>();
    private final LongAdder received = new LongAdder();

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        double warmupSeconds = args.length > 1 ? Double.parseDouble(args[1]) : 0;
        System.out.println(new Broker().run(seconds, warmupSeconds));
        System.exit(0);
    }

    private Json run(double seconds, double warmupSeconds) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("verdicts");
        broker.setPersistent(false);
        broker.setUseJmx(false);
        Long room = Long.getLong("broker.room");
        if (room != null) {
            broker.getSystemUsage().getMemoryUsage().setLimit(room << 20);
        }
        broker.start();
        ActiveMQConnectionFactory factory =
                new ActiveMQConnectionFactory("vm://verdicts?create=false");
        for (int i = 0; i < EACH; i++) {
            Pace.Turns turns = Pace.turns(i, EACH);
            start(factory, "producer-" + i,
                    (session, queue) -> produce(session, queue, turns));
            start(factory, "consumer-" + i, this::consume);
        }
        Measurement measured = Measurement.of(warmupSeconds, seconds, received::sum);
        stopping = true;
        for (Thread thread : threads) {
            thread.join(2_000);
        }
        return new Json()
                .put("subject", "Broker")
                .put("messages", measured.count)
                .put("total_messages", received.sum())
                .put("messages_per_second", measured.perSecond())
                .put("messages_per_cpu_second", measured.perCpuSecond())
                .put("process_cpu_ns", measured.cpuNanos)
                .put("wall_ns", measured.wallNanos);
    }

    private void start(ActiveMQConnectionFactory factory, String name, Work work)
            throws JMSException {
        Connection connection = factory.createConnection();
        connection.start();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = session.createQueue("orders");
        Thread thread = new Thread(() -> {
            try {
                work.run(session, queue);
            } catch (JMSException closed) {
                // The end.
            }
        }, name);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    private void produce(Session session, Queue queue, Pace.Turns turns) throws JMSException {
        MessageProducer producer = session.createProducer(queue);
        producer.setDeliveryMode(javax.jms.DeliveryMode.NON_PERSISTENT);
        while (!stopping) {
            // What is sent is when it was due, or 0.
            producer.send(session.createTextMessage(Long.toString(turns.await())));
        }
    }

    private void consume(Session session, Queue queue) throws JMSException {
        MessageConsumer consumer = session.createConsumer(queue);
        while (!stopping) {
            Message message = consumer.receive(100);
            if (message != null) {
                long dueNanos = Long.parseLong(((TextMessage) message).getText());
                if (dueNanos != 0) {
                    Pace.ended(dueNanos);
                }
                received.increment();
            }
        }
    }
}
