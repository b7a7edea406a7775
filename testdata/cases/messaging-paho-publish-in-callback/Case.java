import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.client.mqttv3.MqttCallback;
import org.eclipse.paho.client.mqttv3.MqttClient;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.MqttMessage;

/** Lamps confirm each command by a message, from the callback that brought them the command. */
public class Case {
    static final AtomicInteger commands = new AtomicInteger();
    static final AtomicInteger arrived = new AtomicInteger();
    static final AtomicInteger confirmed = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        Executor elsewhere = args.length > 1 ? Executors.newSingleThreadExecutor() : null;
        ServerSocket broker = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        thread("broker", () -> {
            while (true) {
                Socket socket = broker.accept();
                thread("broker-connection", () -> Broker.acknowledge(socket));
            }
        });
        for (int i = 0; i < 4; i++) {
            MqttClient lamp = new MqttClient("tcp://127.0.0.1:" + broker.getLocalPort(), "lamp-" + i, null);
            lamp.setCallback(new MqttCallback() {
                @Override
                public void messageArrived(String topic, MqttMessage message) {
                    arrived.incrementAndGet();
                    if (elsewhere != null) {
                        elsewhere.execute(() -> confirm(lamp));
                    } else {
                        confirm(lamp);
                    }
                }

                @Override
                public void connectionLost(Throwable e) {}

                @Override
                public void deliveryComplete(IMqttDeliveryToken token) {}
            });
            lamp.connect();
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: commands=" + commands + " arrived=" + arrived + " confirmed=" + confirmed);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void confirm(MqttClient lamp) {
        try {
            lamp.publish("confirmations", "done".getBytes(), 0, false);
            confirmed.incrementAndGet();
        } catch (MqttException e) {
            System.out.println(e);
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void thread(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                System.out.println(name + ": " + e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
