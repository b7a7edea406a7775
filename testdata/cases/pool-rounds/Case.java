import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Phaser;

/** 6 workers in rounds; arguments: how they are kept together, and each how many milliseconds a round begins, or for how many the slowest of them has to do. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int millis = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Weather weather = new Weather();
        for (int i = 1; i <= Weather.REGIONS; i++) {
            int region = i;
            Meter.threads(1, "region-" + i, () -> {
                switch (arguments[1]) {
                    case "barrier":
                        weather.roundWithBarrier(region, millis);
                        break;
                    case "phaser":
                        weather.roundWithPhaser(region, millis);
                        break;
                    default:
                        weather.roundOnceDue(region);
                }
            });
        }
        if (arguments[1].equals("due")) {
            for (int i = 0; i < 20; i++) {
                Meter.pause(25);
                weather.begin();
            }
            Meter.pause(100);
            if (millis > 0) {
                Meter.each(millis, "clock", weather::begin);
            }
        }
        Meter.end(seconds, "region-");
    }
}

class Weather {
    static final int REGIONS = 6;
    private final CyclicBarrier barrier = new CyclicBarrier(REGIONS);
    private final Phaser phaser = new Phaser(REGIONS);
    private final Phaser due = new Phaser(REGIONS + 1);

    /** Lets a round begin, and does not wait for it; not while some have not ended the last one. */
    void begin() {
        if (due.getUnarrivedParties() == 1) {
            due.arrive();
        }
    }

    void roundOnceDue(int region) {
        due.arriveAndAwaitAdvance();
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    /** Each region needs what the others have found in the round before. */
    void roundWithBarrier(int region, int millis) throws BrokenBarrierException, InterruptedException {
        compute(region, millis);
        Meter.waits();
        barrier.await();
        Meter.waited();
    }

    void roundWithPhaser(int region, int millis) {
        compute(region, millis);
        Meter.waits();
        phaser.arriveAndAwaitAdvance();
        Meter.waited();
    }

    private void compute(int region, int millis) {
        Meter.handles();
        if (region == 1) {
            computeMountains(millis);
        } else {
            Meter.pause(5);
        }
        Meter.handled();
    }

    private void computeMountains(int millis) {
        Meter.pause(millis);
    }
}
