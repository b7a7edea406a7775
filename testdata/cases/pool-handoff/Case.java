import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;

/** 6 who take what is handed to them; arguments: through which queue, how it is given, each how many milliseconds, and how many who give without a pause. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        BlockingQueue<String> queue = arguments[1].equals("transfer") ? new LinkedTransferQueue<>() : new SynchronousQueue<>();
        Post post = new Post(queue);
        Meter.threads(6, "carrier", arguments[2].equals("sign") ? post::carryAndSign : post::carry);
        // Letters that are signed for go out again.
        for (int i = 0; i < (arguments[2].equals("sign") ? 3 : 20); i++) {
            post.give();
        }
        Meter.pause(100);
        int millis = Integer.parseInt(arguments[3]);
        if (millis > 0) {
            Meter.each(millis, "sender", post::post);
        }
        Meter.threads(Integer.parseInt(arguments[4]), "counter", post::give);
        Meter.end(seconds, "carrier-");
    }
}

class Post {
    private final SignatureBook book = new SignatureBook();
    private final BlockingQueue<String> queue;

    Post(BlockingQueue<String> queue) {
        this.queue = queue;
    }

    /** Does not wait, and is away if nobody takes it at once and the queue has no room. */
    void post() {
        queue.offer("letter");
    }

    /** Waits until somebody takes it. */
    void give() throws InterruptedException {
        Meter.waits();
        if (queue instanceof LinkedTransferQueue) {
            ((LinkedTransferQueue<String>) queue).transfer("letter");
        } else {
            queue.put("letter");
        }
        Meter.waited();
    }

    void carry() throws InterruptedException {
        queue.take();
        deliver();
    }

    void carryAndSign() throws InterruptedException {
        queue.take();
        Meter.handles();
        book.sign();
        Meter.handled();
        post();
    }

    private void deliver() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }
}

class SignatureBook {
    private int signed;

    void sign() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(20);
            signed++;
        }
    }
}
