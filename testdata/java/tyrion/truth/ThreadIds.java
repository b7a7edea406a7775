package tyrion.truth;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import tyrion.support.Json;

/**
 * {@code thread-ids [TIMES]}: as in a JVM that has started millions of threads. 40 threads take a
 * lock and stay. Then others come whose ids have the same low bits, but others above bit 18 and bit
 * 32; each takes the lock once, and one of them TIMES times. Before they end, all of the 40 take it
 * once more. Needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}.
 */
final class ThreadIds implements Scenario {
    private static final int STAYING = 40;
    private static final int COMING = 60;

    private final CountDownLatch leave = new CountDownLatch(1);
    private long taken;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int times = arguments.number(0, 200_000);
        List<Thread> staying = new ArrayList<>();
        for (int i = 0; i < STAYING; i++) {
            CountDownLatch here = new CountDownLatch(1);
            staying.add(Threads.start("staying-" + i, () -> stay(here)));
            here.await();
        }
        long first = staying.get(0).getId();
        List<Long> ids = new ArrayList<>();
        for (long far : new long[] {1L << 18, 1L << 32, (1L << 40) + (1L << 18)}) {
            ThreadCounter.set(far + first - (COMING - STAYING) / 2);
            for (int i = 0; i < COMING; i++) {
                int often = i == COMING / 2 ? times : 1;
                Thread thread = Threads.start("coming", () -> take(often));
                ids.add(thread.getId());
                Threads.join(thread);
            }
        }
        leave.countDown();
        Threads.join(staying);
        report.put("class", ThreadIds.class.getName())
                .put("first_id", first)
                .put("last_id", ids.get(ids.size() - 1))
                .put("acquisitions", taken)
                .put("reentrant", 0)
                .put("failed", 0);
    }

    private void stay(CountDownLatch here) {
        take(1);
        here.countDown();
        Threads.await(leave);
        take(1);
    }

    private void take(int often) {
        for (int i = 0; i < often; i++) {
            synchronized (this) {
                taken++;
            }
        }
    }

    /** The number from which the JVM gives threads their ids. */
    private static final class ThreadCounter {
        /** So that the next thread has this id, or one a little above. */
        static void set(long next) throws ReflectiveOperationException {
            try {
                Field field = Thread.class.getDeclaredField("threadSeqNumber");
                field.setAccessible(true);
                field.setLong(null, next);
            } catch (NoSuchFieldException e) {
                setNative(next);
            }
        }

        /** Since Java 19 the JVM keeps it; Java knows its address. */
        private static void setNative(long next) throws ReflectiveOperationException {
            Class<?> ids = Class.forName("java.lang.Thread$ThreadIdentifiers");
            Field offset = ids.getDeclaredField("NEXT_TID_OFFSET");
            offset.setAccessible(true);
            // Not that of sun.misc: newer JDKs print warnings of its use.
            Object module = Class.class.getMethod("getModule").invoke(Object.class);
            Method export = module.getClass().getDeclaredMethod("implAddExports", String.class);
            export.setAccessible(true);
            export.invoke(module, "jdk.internal.misc");
            Class<?> unsafe = Class.forName("jdk.internal.misc.Unsafe");
            unsafe.getMethod("putLong", long.class, long.class)
                    .invoke(
                            unsafe.getMethod("getUnsafe").invoke(null),
                            offset.getLong(null),
                            next);
        }
    }
}
