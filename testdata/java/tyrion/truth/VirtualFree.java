package tyrion.truth;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code virtual-free SECONDS}: virtual threads, a thousand at a time, that take no lock and wait
 * for nothing. Tells how many there were, and the process's CPU time meanwhile.
 *
 * <p>Measured after {@code -Dtruth.warmup=SECONDS}, default 1.
 */
final class VirtualFree implements Scenario {
    private static final int AT_A_TIME = 1000;

    private final Thread starter = Thread.currentThread();
    private final AtomicInteger left = new AtomicInteger();
    private ThreadFactory threads;

    @Override
    public void run(Arguments arguments, Json report) {
        VirtualThreads.require();
        threads = VirtualThreads.named("free");
        run(Double.parseDouble(System.getProperty("truth.warmup", "1")));
        long cpuBefore = Jvm.processCpuNanos();
        long count = run(arguments.number(0, 1));
        report.put("threads", count).put("process_cpu_ns", Jvm.processCpuNanos() - cpuBefore);
    }

    private long run(double seconds) {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        long count = 0;
        do {
            left.set(AT_A_TIME);
            for (int i = 0; i < AT_A_TIME; i++) {
                threads.newThread(this::pass).start();
            }
            while (left.get() > 0) {
                LockSupport.park(this);
            }
            count += AT_A_TIME;
        } while (System.nanoTime() < end);
        return count;
    }

    private void pass() {
        if (left.decrementAndGet() == 0) {
            LockSupport.unpark(starter);
        }
    }
}
