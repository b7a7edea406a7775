import java.io.IOException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.modeler.Registry;

/** Tomcat with 8 request processing threads; arguments: path and number of the clients in another process. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = number == 0 ? null : Clients.start();
        Registry.disableRegistry();
        Tomcat tomcat = new Tomcat();
        tomcat.setSilent(true);
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir") + "/case-tomcat");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", "8");
        tomcat.getConnector().setProperty("minSpareThreads", "8");
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "orders", new OrderServlet());
        context.addServletMappingDecoded("/*", "orders");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        Clients.ask(port, "/order", 20);
        if (clients != null) {
            clients.begin(port, arguments[1], number);
        }
        Meter.end(seconds, "-exec-");
    }
}

class OrderServlet extends HttpServlet {
    private final InvoiceNumbers numbers = new InvoiceNumbers();

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        Meter.handles();
        long number = request.getRequestURI().equals("/invoice") ? numbers.next() : order();
        Meter.handled();
        response.setContentLength(8);
        response.getWriter().printf("%08d", number % 100_000_000);
    }

    private long order() {
        Meter.pause(5);
        return System.nanoTime();
    }
}

/** Gives each invoice its number, one after the other. */
class InvoiceNumbers {
    private long last;

    long next() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(5);
            return ++last;
        }
    }
}
