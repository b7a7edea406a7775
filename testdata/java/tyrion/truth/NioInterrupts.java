package tyrion.truth;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import tyrion.support.Json;

/**
 * {@code nio-interrupts SECONDS [ROUNDS]}: virtual threads that block in a read from a pipe are
 * interrupted, by virtual threads and by others, and the pipe is closed at the same time, for some
 * time and for ROUNDS rounds at the least. Before JDK 23 the JDK then calls the channel's code with
 * a lock of the virtual thread held.
 */
final class NioInterrupts implements Scenario {
    private static final int DRIVERS = 4;

    private final AtomicLong rounds = new AtomicLong();
    private int leastRounds;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        leastRounds = arguments.number(1, 0);
        long endNanos = System.nanoTime() + arguments.number(0, 5) * 1_000_000_000L;
        List<Thread> drivers = new ArrayList<>();
        ThreadFactory factory = VirtualThreads.numbered("driver-");
        for (int i = 0; i < DRIVERS; i++) {
            Thread driver = factory.newThread(() -> drive(endNanos));
            driver.start();
            drivers.add(driver);
        }
        Threads.join(drivers);
        report.put("rounds", rounds.get());
    }

    private void drive(long endNanos) {
        ThreadFactory virtual = VirtualThreads.named("nio");
        while (System.nanoTime() < endNanos || rounds.get() < leastRounds) {
            try {
                round(virtual);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            rounds.incrementAndGet();
        }
    }

    private static void round(ThreadFactory virtual) throws IOException {
        Pipe pipe = Pipe.open();
        Thread reader = virtual.newThread(() -> read(pipe));
        List<Thread> all = new ArrayList<>(Arrays.asList(reader));
        all.add(virtual.newThread(() -> close(pipe)));
        all.add(virtual.newThread(reader::interrupt));
        all.add(new Thread(reader::interrupt, "interrupter"));
        for (Thread thread : all) {
            thread.start();
        }
        Threads.join(all);
        pipe.sink().close();
    }

    private static void read(Pipe pipe) {
        try {
            pipe.source().read(ByteBuffer.allocate(8));
        } catch (IOException e) {
            // It was interrupted, or closed.
        }
    }

    private static void close(Pipe pipe) {
        try {
            pipe.source().close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
