import java.util.ArrayList;
import java.util.List;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;

/**
 * An embedded ActiveMQ: four producers and four consumers of one queue, which keeps messages in
 * memory alone.
 *
 * <p>Usage: {@code java Broker [SECONDS]}. Prints how many messages went through.
 */
public final class Broker {
    private static final int EACH = 4;

    private interface Work {
        long run(Session session, Queue queue) throws JMSException;
    }

    private volatile boolean stopping;
    private final List<Thread> threads = new ArrayList<>();
    private final long[] consumed = new long[EACH];

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        System.out.println(new Broker().run(seconds) + " messages");
        System.exit(0);
    }

    private long run(double seconds) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("verdicts");
        broker.setPersistent(false);
        broker.setUseJmx(false);
        broker.start();
        ActiveMQConnectionFactory factory =
                new ActiveMQConnectionFactory("vm://verdicts?create=false");
        for (int i = 0; i < EACH; i++) {
            int nth = i;
            start(factory, "producer-" + i, this::produce);
            start(factory, "consumer-" + i, (session, queue) -> consumed[nth] = consume(session, queue));
        }
        Thread.sleep((long) (seconds * 1000));
        stopping = true;
        for (Thread thread : threads) {
            thread.join(2_000);
        }
        long sum = 0;
        for (long count : consumed) {
            sum += count;
        }
        return sum;
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

    private long produce(Session session, Queue queue) throws JMSException {
        MessageProducer producer = session.createProducer(queue);
        producer.setDeliveryMode(javax.jms.DeliveryMode.NON_PERSISTENT);
        long sent = 0;
        while (!stopping) {
            producer.send(session.createTextMessage("order " + sent++));
        }
        return sent;
    }

    private long consume(Session session, Queue queue) throws JMSException {
        MessageConsumer consumer = session.createConsumer(queue);
        long received = 0;
        while (!stopping) {
            if (consumer.receive(100) != null) {
                received++;
            }
        }
        return received;
    }
}
