package tested;

import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import tyrion.junit.LocksAtMost;
import tyrion.junit.NoContention;
import tyrion.junit.NoDeadlockRisk;

/** Tests whose answers are their names. */
class JupiterTests {
    private static final Cache SHARED = new Cache();

    private final Cache cache = new Cache();

    @Test
    @LocksAtMost(waits = "50 ms", lock = "Cache.*")
    void failsForItsOwnWait() throws InterruptedException {
        cache.makeOneWait(100);
    }

    @Test
    @LocksAtMost(waits = "50 ms", lock = "Cache.*")
    void failsForTheLastThingThatItDoes() throws InterruptedException {
        cache.makeOneWaitLast(100);
    }

    @Test
    @LocksAtMost(waits = "50 ms", lock = "Cache.*")
    void failsForTheWaitOfAThreadThatItStarts() throws InterruptedException {
        cache.makeStartedWait(100);
    }

    @Test
    @LocksAtMost(waits = "30 s")
    void passesForItMayWaitLonger() throws InterruptedException {
        cache.makeOneWait(20);
    }

    @Test
    @LocksAtMost(waits = "1 ms", lock = "Other")
    void passesForAnotherLock() throws InterruptedException {
        cache.makeOneWait(20);
    }

    @Test
    @NoContention(lock = "Cache")
    void failsForContention() throws InterruptedException {
        cache.makeOneWait(20);
    }

    @Test
    @NoContention(lock = "Cache")
    void passesWithoutContention() throws InterruptedException {
        cache.takeInTurn();
    }

    @Test
    @NoDeadlockRisk
    void failsForARing() throws InterruptedException {
        cache.takeInBothOrders();
    }

    /** Who has taken the same locks before finds the ring, too. */
    @RepeatedTest(2)
    @NoDeadlockRisk
    void failsForTheSameRing() throws InterruptedException {
        SHARED.takeInBothOrders();
    }

    @Test
    @NoDeadlockRisk
    void passesWithoutARing() throws InterruptedException {
        cache.takeInOneOrder();
    }

    @Test
    @NoContention
    void failsForItsOwnReason() throws InterruptedException {
        cache.makeOneWait(20);
        fail("its own reason");
    }
}
