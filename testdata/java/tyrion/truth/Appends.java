package tyrion.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import tyrion.support.Json;
import tyrion.support.Jvm;

/**
 * {@code appends THREADS PER}: many threads append to one synchronized buffer, then the JVM exits
 * as usual. The number of acquisitions is exact: THREADS times PER. The number of contentions is
 * what the JVM counted, which leaves out monitors won while spinning.
 */
final class Appends implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) {
        int threadCount = arguments.number(0, 1000);
        int appendsPerThread = arguments.number(1, 1000);

        SharedBuffer buffer = new SharedBuffer();
        CountDownLatch started = new CountDownLatch(1);
        List<Appender> appenders = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= threadCount; i++) {
            Appender appender = new Appender(buffer, appendsPerThread, started);
            appenders.add(appender);
            threads.add(Threads.start("appender-" + i, appender));
        }
        started.countDown();
        Threads.join(threads);

        long blocked = 0;
        for (Appender appender : appenders) {
            blocked += appender.blockedCount;
        }
        report.put("threads", threadCount)
                .put("acquisitions", buffer.appended())
                .put("blocked_count", blocked);
    }

    /** A buffer as {@link StringBuffer}: each method is synchronized. */
    private static final class SharedBuffer {
        private static final int CAPACITY = 1 << 16;

        private final char[] text = new char[CAPACITY];
        private long length;

        synchronized void append(char c) {
            text[(int) (length % CAPACITY)] = c;
            length++;
        }

        synchronized long appended() {
            return length;
        }
    }

    /** One of the threads. */
    private static final class Appender implements Runnable {
        private final SharedBuffer buffer;
        private final int appends;
        private final CountDownLatch started;
        private long blockedCount;

        Appender(SharedBuffer buffer, int appends, CountDownLatch started) {
            this.buffer = buffer;
            this.appends = appends;
            this.started = started;
        }

        @Override
        public void run() {
            try {
                started.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            long blockedBefore = Jvm.blockedCount();
            for (int i = 0; i < appends; i++) {
                buffer.append((char) ('a' + i % 26));
            }
            blockedCount = Jvm.blockedCount() - blockedBefore;
        }
    }
}
