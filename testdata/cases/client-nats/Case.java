import io.nats.client.Connection;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.Subscription;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.time.Duration;

/** A NATS client; its server, in another process, takes all messages, and brings none. Arguments: load, and milliseconds between measurements. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        Connection connection = Nats.connect(new Options.Builder().server("nats://127.0.0.1:" + startServer()).build());
        for (String subject : new String[] {"weather", "news", "traffic"}) {
            Subscription subscription = connection.subscribe(subject);
            Meter.threads(1, subject, () -> subscription.nextMessage(Duration.ZERO));
        }
        connection.createDispatcher(message -> Meter.handled()).subscribe("alarms");
        Station station = new Station(connection);
        station.measure();
        if (arguments[1].equals("measurements")) {
            if (!arguments[2].equals("0")) {
                Meter.each(Long.parseLong(arguments[2]), "station", station::measure);
            }
        } else {
            Meter.threads(4, "forecast", station::forecast);
        }
        Meter.end(seconds, "nats");
    }

    private static String startServer() throws Exception {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        ProcessBuilder builder = new ProcessBuilder(java, "-Xmx32m", "-cp", System.getProperty("java.class.path"), "SilentServer");
        // What the client's JVM is told is not meant for its server.
        builder.environment().keySet().removeIf(name -> name.endsWith("JAVA_OPTIONS") || name.equals("JAVA_TOOL_OPTIONS"));
        Process server = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
        return new BufferedReader(new InputStreamReader(server.getInputStream())).readLine();
    }
}

class Station {
    private final Connection connection;

    Station(Connection connection) {
        this.connection = connection;
    }

    void measure() {
        Meter.handles();
        connection.publish("measurements", "21.5".getBytes());
        Meter.handled();
    }

    /** Asks, and gives up after half a second. */
    void forecast() throws Exception {
        Meter.waits();
        connection.request("forecast", "tomorrow".getBytes(), Duration.ofMillis(500));
        Meter.waited();
    }
}
