import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.store.ha.WaitNotifyObject;

/** A master sends each message to its slaves and answers the producer when all have it. */
public class Case {
    static final WaitNotifyObject waitNotifyObject = new WaitNotifyObject();
    static final int SLAVES = 3;
    static volatile long maxOffset;
    static volatile CountDownLatch acknowledged = new CountDownLatch(SLAVES);
    static final LongAdder waitedNanos = new LongAdder();
    static final LongAdder waits = new LongAdder();
    static final LongAdder messages = new LongAdder();

    /** Sends what is new to one slave; sleeps at most two seconds if nothing is. */
    static final class WriteSocketService extends Thread {
        long nextTransferFromWhere;

        WriteSocketService(int slave) {
            super("ha-write-" + slave);
            setDaemon(true);
        }

        void transfer() throws InterruptedException {
            Thread.sleep(2); // to the slave and back
            nextTransferFromWhere++;
            acknowledged.countDown();
        }

        void awaitMessages() throws InterruptedException {
            Thread.sleep(3); // nothing is new: a heartbeat for the slave
            long start = System.nanoTime();
            waitNotifyObject.allWaitForRunning(2000);
            waitedNanos.add(System.nanoTime() - start);
            waits.increment();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    if (nextTransferFromWhere < maxOffset) {
                        transfer();
                    } else {
                        awaitMessages();
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static void putMessage() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(SLAVES);
        acknowledged = latch;
        maxOffset++;
        waitNotifyObject.wakeupAll();
        latch.await();
        messages.increment();
        Thread.sleep(1);
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        for (int i = 0; i < SLAVES; i++) {
            new WriteSocketService(i).start();
        }
        Thread producer = new Thread(() -> {
            try {
                while (true) {
                    putMessage();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "send-message");
        producer.setDaemon(true);
        producer.start();
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: messages=" + messages.sum());
        System.out.println("proof: waits=" + waits.sum() + " waited_s=" + waitedNanos.sum() / 1e9 + " of_s=" + SLAVES * measured);
        Runtime.getRuntime().halt(0);
    }
}
