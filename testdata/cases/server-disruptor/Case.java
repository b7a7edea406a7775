import com.lmax.disruptor.BlockingWaitStrategy;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** A Disruptor whose 3 handlers see each trade, in a ring of 32; arguments: how many trade without a pause, and each how many milliseconds otherwise. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        AtomicInteger threads = new AtomicInteger();
        ThreadFactory factory = task -> new Thread(task, "handler-" + threads.incrementAndGet());
        Disruptor<Trade> disruptor = new Disruptor<>(Trade::new, 32, factory, ProducerType.MULTI, new BlockingWaitStrategy());
        disruptor.handleEventsWith(new Archive(), new Risk(), new Risk());
        RingBuffer<Trade> ring = disruptor.start();
        Market market = new Market(ring);
        for (int i = 0; i < 20; i++) {
            market.trade();
        }
        Meter.threads(Integer.parseInt(arguments[1]), "market", market::trade);
        int millis = Integer.parseInt(arguments[2]);
        if (millis > 0) {
            Meter.each(millis, "market", market::trade);
        }
        Meter.end(seconds, "handler-");
    }
}

class Trade {
    long price;
}

class Archive implements EventHandler<Trade> {
    @Override
    public void onEvent(Trade trade, long sequence, boolean last) {
        Meter.handles();
        Meter.pause(5);
        Meter.handled();
    }
}

class Risk implements EventHandler<Trade> {
    private long sum;

    @Override
    public void onEvent(Trade trade, long sequence, boolean last) {
        sum += trade.price;
    }
}

class Market {
    private final RingBuffer<Trade> ring;

    Market(RingBuffer<Trade> ring) {
        this.ring = ring;
    }

    void trade() {
        Meter.waits();
        long sequence = ring.next();
        Meter.waited();
        ring.get(sequence).price = sequence;
        ring.publish(sequence);
    }
}
