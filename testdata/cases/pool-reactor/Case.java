import java.time.Duration;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Reactor's scheduler for calls that block, with 8 threads; arguments: what is done, and each how many milliseconds, or how many do it. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Scheduler elastic = Schedulers.newBoundedElastic(8, 10_000, "elastic");
        Invoices invoices = new Invoices(elastic);
        for (int i = 0; i < 50; i++) {
            invoices.print().subscribe();
        }
        Meter.pause(300);
        switch (arguments[1]) {
            case "wait":
                Meter.threads(number, "clerk", invoices::printAndWait);
                break;
            case "book":
                for (int i = 0; i < number; i++) {
                    invoices.book().repeat().subscribe();
                }
                break;
            case "payment":
                Meter.threads(number, "clerk", invoices::waitForPayment);
                break;
            default:
                if (number > 0) {
                    Meter.each(number, "customers", () -> invoices.print().subscribe());
                }
        }
        Meter.end(seconds, "elastic");
    }
}

class Invoices {
    private final Ledger ledger = new Ledger();
    private final Scheduler elastic;

    Invoices(Scheduler elastic) {
        this.elastic = elastic;
    }

    Mono<Object> print() {
        return Mono.fromRunnable(this::printOne).subscribeOn(elastic);
    }

    private void printOne() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void printAndWait() {
        Meter.waits();
        print().block();
        Meter.waited();
    }

    Mono<Object> book() {
        return Mono.fromRunnable(() -> {
            Meter.handles();
            ledger.add();
            Meter.handled();
        }).subscribeOn(elastic);
    }

    /** Nobody tells that it was paid. */
    void waitForPayment() {
        Sinks.One<String> payment = Sinks.one();
        Meter.waits();
        try {
            payment.asMono().block(Duration.ofMillis(500));
        } catch (IllegalStateException late) {
            // Looks once more.
        }
        Meter.waited();
    }
}

class Ledger {
    private int entries;

    void add() {
        Meter.waits();
        synchronized (this) {
            Meter.waited();
            Meter.pause(20);
            entries++;
        }
    }
}
