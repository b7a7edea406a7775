import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.concurrent.locks.ReentrantLock;

/** 8 threads lead in turn: the leader waits for a datagram, and those that have none to answer wait to lead; arguments: until when one leads, and the number of the clients in another process. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
        NameServer server = new NameServer(socket);
        Meter.threads(8, "resolver", arguments[1].equals("answer") ? server::serveInside : server::serve);
        Askers.ask(socket.getLocalPort(), 20);
        if (number > 0) {
            Askers.start(socket.getLocalPort(), number);
        }
        Meter.end(seconds, "resolver-");
    }
}

class NameServer {
    private final ReentrantLock leading = new ReentrantLock();
    private final DatagramSocket socket;

    NameServer(DatagramSocket socket) {
        this.socket = socket;
    }

    /** Leads until it has a question. */
    void serve() throws IOException {
        DatagramPacket packet = new DatagramPacket(new byte[16], 16);
        leading.lock();
        try {
            socket.receive(packet);
        } finally {
            leading.unlock();
        }
        answer(packet);
    }

    /** Leads until it has answered, so that one question is answered at a time. */
    void serveInside() throws IOException {
        DatagramPacket packet = new DatagramPacket(new byte[16], 16);
        Meter.waits();
        leading.lock();
        Meter.waited();
        try {
            socket.receive(packet);
            answer(packet);
        } finally {
            leading.unlock();
        }
    }

    private void answer(DatagramPacket packet) throws IOException {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
        socket.send(packet);
    }
}
