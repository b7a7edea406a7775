package check;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
import org.openjdk.jmh.annotations.GroupThreads;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Control;

/**
 * Benchmarks whose answers are known. Threads take turns at a fair lock, so each operation waits
 * for as many holds as there are other threads, and all waits are for that lock.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 1, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 2, time = 1000, timeUnit = TimeUnit.MILLISECONDS)
@Fork(2)
public class Ledger {
    @Param({"2", "4"})
    public int holdMillis;

    private final ReentrantLock lock = new ReentrantLock(true);

    @Benchmark
    @Threads(2)
    public void book(Control control) throws InterruptedException {
        hold(control, 1);
    }

    /** One thread alone never waits. */
    @Benchmark
    @Threads(1)
    public void alone(Control control) throws InterruptedException {
        hold(control, 0);
    }

    @Benchmark
    @Group("mixed")
    @GroupThreads(2)
    public void reader(Control control) throws InterruptedException {
        hold(control, 2);
    }

    @Benchmark
    @Group("mixed")
    @GroupThreads(1)
    public void writer(Control control) throws InterruptedException {
        hold(control, 2);
    }

    /** The hold begins when all others wait, however busy the machine is. */
    private void hold(Control control, int others) throws InterruptedException {
        lock.lock();
        try {
            while (lock.getQueueLength() < others && !control.stopMeasurement) {
                Thread.yield();
            }
            Thread.sleep(holdMillis);
        } finally {
            lock.unlock();
        }
    }
}
