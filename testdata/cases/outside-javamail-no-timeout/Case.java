import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import javax.mail.Message;
import javax.mail.Session;
import javax.mail.Transport;
import javax.mail.internet.InternetAddress;
import javax.mail.internet.MimeMessage;

/** Alarms go out by mail; after two seconds the mail server takes mails and says nothing any more. */
public class Case {
    static final AtomicInteger sent = new AtomicInteger();
    static final AtomicInteger failed = new AtomicInteger();
    static volatile long lastSent;

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        thread("mail-server", () -> {
            while (true) {
                Socket socket = server.accept();
                thread("mail-server-connection", () -> MailServer.receive(socket, start + 2_000_000_000L));
            }
        });
        Properties settings = new Properties();
        settings.put("mail.smtp.host", "127.0.0.1");
        settings.put("mail.smtp.port", "" + server.getLocalPort());
        settings.put("mail.smtp.localhost", "localhost");
        if (args.length > 1) {
            settings.put("mail.smtp.timeout", args[1]);
        }
        Session session = Session.getInstance(settings);
        lastSent = start;
        for (int i = 0; i < 4; i++) {
            thread("alarm-" + i, () -> {
                while (true) {
                    alarm(session);
                    Thread.sleep(50);
                }
            });
        }
        Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
        System.out.println("proof: sent=" + sent + " failed=" + failed);
        System.out.printf("proof: last_sent_after_seconds=%.1f%n", (lastSent - start) / 1e9);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void alarm(Session session) throws Exception {
        MimeMessage mail = new MimeMessage(session);
        mail.setFrom(new InternetAddress("pump@example.org"));
        mail.setRecipient(Message.RecipientType.TO, new InternetAddress("operator@example.org"));
        mail.setSubject("Pressure too high");
        mail.setText("Please look.");
        try {
            Transport.send(mail);
            sent.incrementAndGet();
            lastSent = System.nanoTime();
        } catch (Exception e) {
            failed.incrementAndGet();
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
