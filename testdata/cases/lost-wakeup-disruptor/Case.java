import com.lmax.disruptor.AlertException;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.SequenceBarrier;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/** Gateways send orders through disruptors whose wait strategy does without a lock. */
public class Case {
    static final class ParkingWaitStrategy implements WaitStrategy {
        private final ConcurrentLinkedQueue<Thread> waiting = new ConcurrentLinkedQueue<>();

        @Override
        public long waitFor(long sequence, Sequence cursor, Sequence dependent, SequenceBarrier barrier)
                throws AlertException {
            while (cursor.get() < sequence) {
                barrier.checkAlert();
                for (int i = 0; i < 200; i++) {
                    Thread.onSpinWait(); // in the hope that an event comes
                }
                waiting.offer(Thread.currentThread()); // too late for what was published since the look
                LockSupport.park(this);
            }
            long available;
            while ((available = dependent.get()) < sequence) {
                barrier.checkAlert();
                Thread.onSpinWait();
            }
            return available;
        }

        @Override
        public void signalAllWhenBlocking() {
            Thread thread;
            while ((thread = waiting.poll()) != null) {
                LockSupport.unpark(thread);
            }
        }
    }

    static final class Order {
        long id;
    }

    static final class Gateway extends Thread {
        final Semaphore confirmations = new Semaphore(0);
        final RingBuffer<Order> orders;
        volatile long sent;
        volatile long since = System.nanoTime();

        Gateway(int number) {
            super("gateway-" + number);
            setDaemon(true);
            Disruptor<Order> disruptor = new Disruptor<>(Order::new, 64, task -> {
                Thread thread = new Thread(task, "matching-" + number);
                thread.setDaemon(true);
                return thread;
            }, ProducerType.SINGLE, new ParkingWaitStrategy());
            disruptor.handleEventsWith((order, sequence, last) -> confirmations.release());
            orders = disruptor.start();
        }

        void send() throws InterruptedException {
            long sequence = orders.next();
            orders.get(sequence).id = sequence;
            orders.publish(sequence);
            confirmations.acquire();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    send();
                    sent++;
                    since = System.nanoTime();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        List<Gateway> gateways = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            gateways.add(new Gateway(i));
        }
        gateways.forEach(Thread::start);
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        for (Gateway gateway : gateways) {
            System.out.println("proof: " + gateway.getName() + " orders=" + gateway.sent + " silent_for_s="
                    + (System.nanoTime() - gateway.since) / 1e9 + " confirmations=" + gateway.confirmations.availablePermits());
        }
        Runtime.getRuntime().halt(0);
    }
}
