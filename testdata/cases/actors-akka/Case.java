import akka.actor.AbstractActor;
import akka.actor.ActorRef;
import akka.actor.ActorSystem;
import akka.actor.Props;
import akka.pattern.Patterns;
import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/** 40 actors in a dispatcher with 8 threads; arguments: what is asked, by how many who wait for it, and each how many milliseconds otherwise. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        ActorSystem system = ActorSystem.create("bank", ConfigFactory.parseString(
                "akka.loglevel = OFF, akka.actor.default-dispatcher { executor = thread-pool-executor, "
                        + "thread-pool-executor.fixed-pool-size = 8, throughput = 1 }").withFallback(ConfigFactory.load()));
        ActorRef[] accounts = new ActorRef[40];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = system.actorOf(Props.create(Account.class, Account::new), "account-" + i);
        }
        Teller teller = new Teller(accounts, arguments[1]);
        for (int i = 0; i < 40; i++) {
            teller.tell();
        }
        Meter.pause(300);
        Meter.threads(Integer.parseInt(arguments[2]), "teller", teller::ask);
        int millis = Integer.parseInt(arguments[3]);
        if (millis > 0) {
            Meter.each(millis, "orders", teller::tell);
        }
        Meter.end(seconds, "bank-akka.actor.default-dispatcher");
    }
}

class Account extends AbstractActor {
    private int sum;

    @Override
    public Receive createReceive() {
        return receiveBuilder().matchEquals("pay in", order -> payIn()).build();
    }

    private void payIn() {
        Meter.handles();
        Meter.pause(20);
        sum++;
        Meter.handled();
        getSender().tell(sum, getSelf());
    }
}

class Teller {
    private final ActorRef[] accounts;
    private final String order;
    private final AtomicInteger next = new AtomicInteger();

    Teller(ActorRef[] accounts, String order) {
        this.accounts = accounts;
        this.order = order;
    }

    private ActorRef account() {
        return accounts[Math.floorMod(next.getAndIncrement(), accounts.length)];
    }

    void tell() {
        account().tell(order, ActorRef.noSender());
    }

    /** An account that does not know the order does not answer. */
    void ask() throws InterruptedException {
        Meter.waits();
        try {
            Patterns.ask(account(), order, Duration.ofMillis(order.equals("pay in") ? 10_000 : 500)).toCompletableFuture().get();
        } catch (ExecutionException late) {
            // Asks again.
        }
        Meter.waited();
    }
}
