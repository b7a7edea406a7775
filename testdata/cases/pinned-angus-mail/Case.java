import jakarta.mail.Address;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeMessage;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;

/** Invoices go out by mail, each from a virtual thread; the transport is synchronized while it sends. */
public class Case {
    static final LongAdder mails = new LongAdder();

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        Thread.ofPlatform().daemon().name("mail-server").start(() -> {
            for (int i = 0; ; i++) {
                try {
                    Socket socket = server.accept();
                    Thread.ofPlatform().daemon().name("mail-server-" + i).start(() -> MailServer.receive(socket));
                } catch (Exception e) {
                    return;
                }
            }
        });
        Properties settings = new Properties();
        settings.put("mail.smtp.localhost", "localhost");
        Session session = Session.getInstance(settings);
        Transport[] transports = new Transport[30];
        for (int i = 0; i < transports.length; i++) {
            transports[i] = session.getTransport("smtp");
            transports[i].connect("127.0.0.1", server.getLocalPort(), null, null);
        }
        long begun = System.nanoTime();
        for (int i = 0; i < transports.length; i++) {
            Transport transport = transports[i];
            Thread.ofVirtual().name("invoice-" + i).start(() -> send(session, transport));
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: mails=" + mails + " of_50_ms most_at_once=" + MailServer.most
            + " virtual_threads=30 in_s=" + (System.nanoTime() - begun) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void send(Session session, Transport transport) {
        try {
            Address[] customer = {new InternetAddress("customer@example.org")};
            while (true) {
                MimeMessage invoice = new MimeMessage(session);
                invoice.setFrom(new InternetAddress("shop@example.org"));
                invoice.setSubject("Your invoice");
                invoice.setText("Thank you.");
                invoice.saveChanges();
                transport.sendMessage(invoice, customer);
                mails.increment();
                Thread.sleep(5);
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }
}
