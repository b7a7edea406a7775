package tested;

import org.junit.Rule;
import org.junit.Test;
import tyrion.junit.LocksAtMost;
import tyrion.junit.NoContention;
import tyrion.junit.NoDeadlockRisk;
import tyrion.junit.TyrionRule;

/** Tests of JUnit 4 whose answers are their names. */
@NoContention(lock = "Cache")
public class RuleTests {
    @Rule public final TyrionRule tyrion = new TyrionRule();

    private final Cache cache = new Cache();

    @Test
    public void failsForContentionAsItsClassSays() throws InterruptedException {
        cache.makeOneWait(20);
    }

    @Test
    @LocksAtMost(waits = "50 ms", lock = "Cache.*")
    @NoContention(lock = "Other")
    public void failsForTheWaitOfAThreadThatItStarts() throws InterruptedException {
        cache.makeStartedWait(100);
    }

    @Test
    @NoDeadlockRisk
    public void failsForARing() throws InterruptedException {
        cache.takeInBothOrders();
    }

    @Test
    @NoDeadlockRisk
    public void passes() throws InterruptedException {
        cache.takeInTurn();
        cache.takeInOneOrder();
    }
}
