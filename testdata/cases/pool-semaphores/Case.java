import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** 8 cooks to whom a Semaphore announces orders; arguments: the dish, each how many milliseconds it is ordered, how many order without a pause, and how many orders are made anew once they are done. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        String dish = arguments[1];
        Meter.start(seconds);
        Kitchen kitchen = new Kitchen(dish.equals("burnt") ? 0 : 2);
        Meter.threads(8, "cook", kitchen::cook);
        for (int i = 0; i < 16; i++) {
            kitchen.order("soup");
        }
        Meter.pause(100);
        int millis = Integer.parseInt(arguments[2]);
        if (millis > 0) {
            Meter.each(millis, "guests", () -> kitchen.order(dish));
        }
        Meter.threads(Integer.parseInt(arguments[3]), "table", () -> kitchen.order(dish));
        for (int i = 0; i < Integer.parseInt(arguments[4]); i++) {
            kitchen.order(dish);
        }
        Meter.end(seconds, "cook-");
    }
}

class Kitchen {
    private final Queue<String> orders = new ConcurrentLinkedQueue<>();
    private final Semaphore announced = new Semaphore(0), room = new Semaphore(1000);
    private final Ovens ovens;
    private final Cash cash = new Cash();

    Kitchen(int working) {
        ovens = new Ovens(working);
    }

    void order(String dish) throws InterruptedException {
        Meter.waits();
        room.acquire();
        Meter.waited();
        orders.add(dish);
        announced.release();
    }

    void cook() throws InterruptedException {
        announced.acquire();
        String dish = orders.remove();
        room.release();
        Meter.handles();
        switch (dish) {
            case "pizza":
                ovens.bake();
                break;
            case "burnt":
                ovens.tryToBake();
                break;
            case "coffee":
                cash.pay();
                break;
            default:
                Meter.pause(20);
        }
        Meter.handled();
        if (!dish.equals("soup")) {
            order(dish);
        }
    }
}

/** So many can bake at a time as there are permits; whose ovens were not given back, there are none. */
class Ovens {
    private final Semaphore free = new Semaphore(2);

    Ovens(int left) {
        free.acquireUninterruptibly(2 - left);
    }

    void bake() throws InterruptedException {
        Meter.waits();
        free.acquire();
        Meter.waited();
        Meter.pause(20);
        free.release();
    }

    void tryToBake() throws InterruptedException {
        Meter.waits();
        boolean has = free.tryAcquire(500, TimeUnit.MILLISECONDS);
        Meter.waited();
        if (has) {
            Meter.pause(20);
            free.release();
        }
    }
}

class Cash {
    void pay() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(20);
        }
    }
}
