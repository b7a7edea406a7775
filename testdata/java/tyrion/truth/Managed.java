package tyrion.truth;

import java.lang.management.ManagementFactory;
import javax.management.Attribute;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import tyrion.api.Tyrion;
import tyrion.support.Json;

/**
 * {@code managed}: the agent is switched and asked through the API and its MXBean, around waits:
 * thread "main" waits once while recording, once while not, and once more while recording.
 */
final class Managed implements Scenario {
    private static final long WAIT_MILLIS = 40;

    private MBeanServer server;
    private ObjectName name;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        report.put("enabled", Tyrion.enabled()).put("present", Tyrion.present());
        report.put("registered", Tyrion.registerMXBean() && Tyrion.registerMXBean());
        server = ManagementFactory.getPlatformMBeanServer();
        name = new ObjectName("tyrion.api:type=Tyrion");
        report.put("attributes", server.getMBeanInfo(name).getAttributes().length);

        long begin = number("Contentions");
        long beginNanos = number("WaitNanos");
        long first = Delay.atMonitor(new Object(), WAIT_MILLIS);
        report.put("first_ns", first)
                .put("first_contentions", number("Contentions") - begin)
                .put("first_wait_ns", number("WaitNanos") - beginNanos);

        Tyrion.enabled(false);
        report.put("paused", !Tyrion.enabled() && server.getAttribute(name, "Enabled").equals(false));
        begin = number("Contentions");
        Delay.atMonitor(new Object(), WAIT_MILLIS);
        report.put("paused_contentions", number("Contentions") - begin);

        server.setAttribute(name, new Attribute("Enabled", true));
        server.setAttribute(name, new Attribute("Threshold", 123_456L));
        report.put("resumed", Tyrion.enabled()).put("threshold", number("Threshold"));
        report.put("third_ns", Delay.atMonitor(new Object(), WAIT_MILLIS));
        report.put("mode", (String) server.getAttribute(name, "Mode"))
                .put("log", (String) server.getAttribute(name, "Log"))
                .put("contentions", number("Contentions"))
                .put("wait_ns", number("WaitNanos"))
                .put("samples", number("Samples"))
                .put("dropped", number("Dropped"));
    }

    private long number(String attribute) throws Exception {
        return (Long) server.getAttribute(name, attribute);
    }
}
