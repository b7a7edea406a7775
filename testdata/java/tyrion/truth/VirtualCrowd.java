package tyrion.truth;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import tyrion.support.Json;

/**
 * {@code virtual-crowd [N [TIMES]]}: N virtual threads that are all there at the same time. Each
 * takes a lock once; when all have, the last one that came takes it TIMES times.
 */
final class VirtualCrowd implements Scenario {
    private CountDownLatch here;
    private final CountDownLatch leave = new CountDownLatch(1);
    private int last;
    private int times;
    private long taken;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        int threadCount = arguments.number(0, 100_000);
        times = arguments.number(1, 200_000);
        last = threadCount;
        here = new CountDownLatch(threadCount);
        ThreadFactory threads = VirtualThreads.named("one of many");
        CountDownLatch gone = new CountDownLatch(threadCount);
        for (int i = 0; i < threadCount; i++) {
            threads.newThread(
                            () -> {
                                stay();
                                gone.countDown();
                            })
                    .start();
        }
        here.await();
        leave.countDown();
        gone.await();
        report.put("class", VirtualCrowd.class.getName())
                .put("threads", threadCount)
                .put("acquisitions", taken);
    }

    private void stay() {
        boolean isLast = take() == last;
        here.countDown();
        Threads.await(leave);
        for (int i = 0; isLast && i < times; i++) {
            take();
        }
    }

    private synchronized long take() {
        return ++taken;
    }
}
