package tested;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tyrion.junit.LocksAtMost;
import tyrion.junit.NoDeadlockRisk;

/** Tests that run at the same time: each begins when all have, and ends when all are done. */
@Execution(ExecutionMode.CONCURRENT)
@LocksAtMost(waits = "50 ms", lock = "Cache.*")
class ParallelTests {
    private static final CyclicBarrier ALL = new CyclicBarrier(5);

    private final Cache cache = new Cache();

    private static void meet() throws Exception {
        ALL.await(60, TimeUnit.SECONDS);
    }

    @Test
    void failsForItsOwnWait() throws Exception {
        meet();
        cache.makeOneWait(100);
        meet();
    }

    @Test
    void failsForTheWaitOfAThreadThatItStarts() throws Exception {
        meet();
        cache.makeStartedWait(100);
        meet();
    }

    @Test
    void failsForTheWaitOfAVirtualThreadThatItStarts() throws Exception {
        meet();
        cache.makeVirtualWait(100);
        meet();
    }

    @Test
    @NoDeadlockRisk
    void failsForARing() throws Exception {
        meet();
        cache.takeInBothOrders();
        meet();
    }

    @Test
    @NoDeadlockRisk
    void passesBesideThem() throws Exception {
        meet();
        cache.takeInTurn();
        cache.takeInOneOrder();
        meet();
    }
}
