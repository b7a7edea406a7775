import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** One java.util.Timer beats for all parts of a node; one beat is held back, and all the others come late. */
public class Case {
    static final Timer heartbeats = new Timer("platform-timer", true);
    static final BlockingQueue<Long> onRamp = new ArrayBlockingQueue<>(2);
    static final LongAdder waitedNanos = new LongAdder();
    static final LongAdder beats = new LongAdder();

    /** Waits for its next tick, which the timer brings after 10 ms. */
    static final class Wiring extends Thread {
        Wiring(int number) {
            super("component-" + number);
            setDaemon(true);
        }

        void awaitHeartbeat() throws InterruptedException {
            CountDownLatch beat = new CountDownLatch(1);
            heartbeats.schedule(new TimerTask() {
                @Override
                public void run() {
                    beat.countDown();
                }
            }, 10);
            long start = System.nanoTime();
            beat.await();
            waitedNanos.add(System.nanoTime() - start);
            beats.increment();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    awaitHeartbeat();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The beat of a component whose queue is full: it waits until there is room. */
    static final class HeartbeatTask extends TimerTask {
        @Override
        public void run() {
            try {
                onRamp.put(System.nanoTime());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        Thread handler = new Thread(() -> {
            try {
                while (true) {
                    onRamp.take();
                    Thread.sleep(400);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "slow-handler");
        handler.setDaemon(true);
        handler.start();
        heartbeats.schedule(new HeartbeatTask(), 0, 10);
        for (int i = 0; i < 6; i++) {
            new Wiring(i).start();
        }
        TimeUnit.SECONDS.sleep(seconds);
        System.out.println("proof: beats=" + beats.sum());
        System.out.println("proof: mean_wait_ms=" + waitedNanos.sum() / 1e6 / Math.max(1, beats.sum()) + " asked_ms=10");
        Runtime.getRuntime().halt(0);
    }
}
