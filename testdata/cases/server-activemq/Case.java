import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.region.policy.PolicyEntry;
import org.apache.activemq.broker.region.policy.PolicyMap;

/** An embedded broker with consumers; arguments: the load, and each how many milliseconds an order comes. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        BrokerService broker = new BrokerService();
        broker.setBrokerName("shop");
        broker.setPersistent(false);
        broker.setUseJmx(false);
        broker.setUseShutdownHook(false);
        PolicyEntry policy = new PolicyEntry();
        policy.setMemoryLimit(64 * 1024);
        policy.setQueuePrefetch(4);
        PolicyMap policies = new PolicyMap();
        policies.setDefaultEntry(policy);
        broker.setDestinationPolicy(policies);
        broker.start();
        OrderDesk desk = new OrderDesk();
        for (int i = 0; i < 4; i++) {
            desk.consume();
        }
        desk.place(1);
        switch (arguments[1]) {
            case "orders":
                if (!arguments[2].equals("0")) {
                    Session session = desk.session();
                    MessageProducer producer = desk.producer(session, "orders");
                    Meter.each(Long.parseLong(arguments[2]), "shop", () -> producer.send(session.createTextMessage("order")));
                }
                break;
            case "flood":
                for (int i = 0; i < 3; i++) {
                    Meter.thread("import-" + i, () -> desk.place(Integer.MAX_VALUE));
                }
                break;
            default:
                for (int i = 0; i < 3; i++) {
                    Meter.thread("quote-" + i, desk::askForQuotes);
                }
        }
        Meter.end(seconds, "ActiveMQ");
    }
}

class OrderDesk {
    private final ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory("vm://shop?create=false");

    /** Each has its own connection: the broker stops those of producers while it has no room. */
    Session session() throws JMSException {
        Connection connection = factory.createConnection();
        connection.start();
        return connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    }

    MessageProducer producer(Session session, String queue) throws JMSException {
        MessageProducer producer = session.createProducer(session.createQueue(queue));
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        return producer;
    }

    void consume() throws JMSException {
        Session session = session();
        session.createConsumer(session.createQueue("orders")).setMessageListener(order -> {
            Meter.handles();
            Meter.pause(20);
            Meter.handled();
        });
        // Others wait in receive for what comes rarely.
        Session complaints = session();
        MessageConsumer consumer = complaints.createConsumer(complaints.createQueue("complaints"));
        Meter.threads(1, "complaints", consumer::receive);
    }

    /** The broker keeps producers until it has room for their messages. */
    void place(int number) throws JMSException {
        Session session = session();
        MessageProducer producer = producer(session, "orders");
        String order = "o".repeat(4000);
        for (int i = 0; i < number; i++) {
            Meter.waits();
            producer.send(session.createTextMessage(order));
            Meter.waited();
        }
    }

    /** Nobody answers questions in this queue. */
    void askForQuotes() throws JMSException {
        Session session = session();
        MessageProducer producer = producer(session, "questions");
        producer.setTimeToLive(1000);
        Destination replies = session.createTemporaryQueue();
        MessageConsumer consumer = session.createConsumer(replies);
        while (true) {
            javax.jms.Message question = session.createTextMessage("price?");
            question.setJMSReplyTo(replies);
            producer.send(question);
            Meter.waits();
            consumer.receive(500);
            Meter.waited();
        }
    }
}
