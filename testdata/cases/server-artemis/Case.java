import java.io.File;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressFullMessagePolicy;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** An embedded Artemis with 4 consumers; arguments: the load, and each how many milliseconds an order comes. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        Configuration configuration = new ConfigurationImpl().setPersistenceEnabled(false).setSecurityEnabled(false)
                .setJMXManagementEnabled(false).addAcceptorConfiguration("in-vm", "vm://0");
        configuration.setBrokerInstance(new File(System.getProperty("java.io.tmpdir"), "case-artemis"));
        configuration.addAddressSetting("#", new AddressSettings().setMaxSizeBytes(64 * 1024)
                .setAddressFullMessagePolicy(AddressFullMessagePolicy.BLOCK));
        new EmbeddedActiveMQ().setConfiguration(configuration).start();
        Depot depot = new Depot(arguments[1].equals("shelf") ? new Shelf() : null);
        for (int i = 1; i <= 4; i++) {
            depot.consume(i);
        }
        depot.place(20);
        Meter.pause(300);
        switch (arguments[1]) {
            case "flood":
                for (int i = 1; i <= 3; i++) {
                    Meter.thread("import-" + i, () -> depot.place(Integer.MAX_VALUE));
                }
                break;
            default:
                if (!arguments[2].equals("0")) {
                    Session session = depot.session();
                    MessageProducer producer = depot.producer(session);
                    Meter.each(Long.parseLong(arguments[2]), "shop", () -> {
                        for (int i = 0; i < (arguments[1].equals("shelf") ? 3 : 1); i++) {
                            producer.send(session.createTextMessage("order"));
                        }
                    });
                }
        }
        Meter.end(seconds, "ActiveMQ");
    }
}

class Depot {
    private final ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory("vm://0?consumerWindowSize=8192&producerWindowSize=8192");
    private final Shelf shelf;

    Depot(Shelf shelf) {
        this.shelf = shelf;
    }

    Session session() throws JMSException {
        Connection connection = factory.createConnection();
        connection.start();
        return connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    }

    MessageProducer producer(Session session) throws JMSException {
        MessageProducer producer = session.createProducer(session.createQueue("orders"));
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        return producer;
    }

    void consume(int number) throws JMSException {
        Session session = session();
        session.createConsumer(session.createQueue("orders")).setMessageListener(order -> {
            Meter.handles();
            if (shelf == null) {
                Meter.pause(20);
            } else {
                shelf.take();
            }
            Meter.handled();
        });
        // Others wait in receive for what comes rarely.
        Session complaints = session();
        MessageConsumer consumer = complaints.createConsumer(complaints.createQueue("complaints"));
        Meter.thread("complaints-" + number, consumer::receive);
    }

    /** The broker gives producers no more credits than it has room. */
    void place(int number) throws JMSException {
        Session session = session();
        MessageProducer producer = producer(session);
        String order = "o".repeat(2000);
        for (int i = 0; i < number; i++) {
            Meter.waits();
            producer.send(session.createTextMessage(order));
            Meter.waited();
        }
    }
}

class Shelf {
    private int taken;

    void take() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(20);
            taken++;
        }
    }
}
