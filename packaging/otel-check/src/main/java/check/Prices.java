package check;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.otel.Tracing;

/**
 * A server whose requests for prices wait for an import, in spans of OpenTelemetry's SDK. It says
 * which spans waited, and for how long.
 *
 * <pre>
 * Prices monitor|lock [virtual]    two operations, one lock
 * Prices names                     more and longer names than there should be
 * Prices scopes N                  what a change of scope takes, over N spans
 * </pre>
 */
public final class Prices {
    private static final int ROUNDS = 5;
    private static final long HOLD_MILLIS = 20;

    private final Object lru = new Object();
    private final ReentrantLock lruLock = new ReentrantLock();
    private final boolean isMonitor;
    private final Tracer tracer;

    private Prices(Tracer tracer, boolean isMonitor) {
        this.tracer = tracer;
        this.isMonitor = isMonitor;
    }

    public static void main(String[] args) throws Exception {
        if (!Boolean.getBoolean("without")) {
            Tracing.install();
        }
        Tracer tracer = SdkTracerProvider.builder().build().get("check");
        switch (args[0]) {
            case "names":
                names(tracer);
                break;
            case "scopes":
                scopes(tracer, Integer.parseInt(args[1]));
                break;
            default:
                new Prices(tracer, args[0].equals("monitor")).run(args.length > 1);
        }
    }

    /** Runs something while the lock is held. */
    private void withLock(Runnable body) {
        if (isMonitor) {
            synchronized (lru) {
                body.run();
            }
        } else {
            lruLock.lock();
            try {
                body.run();
            } finally {
                lruLock.unlock();
            }
        }
    }

    private void run(boolean isVirtual) throws Exception {
        ExecutorService server = Executors.newSingleThreadExecutor(r -> new Thread(r, "server"));
        List<String> said = new ArrayList<>();
        List<String> imports = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            AtomicReference<Thread> waiter = new AtomicReference<>();
            CountDownLatch held = new CountDownLatch(1);
            Thread importer = new Thread(() -> imports.add(importPrices(waiter, held)), "importer");
            importer.start();
            held.await();
            CountDownLatch done = new CountDownLatch(1);
            Span span = tracer.spanBuilder("GET").startSpan();
            try (Scope scope = span.makeCurrent()) {
                // By OpenTelemetry's propagation to another thread.
                Runnable request = () -> {
                    said.add(price(waiter));
                    done.countDown();
                };
                if (isVirtual) {
                    startVirtual(Context.current().wrap(request));
                } else {
                    Context.taskWrapping(server).execute(request);
                }
            }
            done.await();
            span.end();
            importer.join();
        }
        server.shutdown();
        System.out.println("{\"waits\":" + said + ",\"holds\":" + imports + "}");
    }

    private static void startVirtual(Runnable task) throws ReflectiveOperationException {
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
    }

    private String importPrices(AtomicReference<Thread> waiter, CountDownLatch held) {
        Span span = tracer.spanBuilder("POST /import").startSpan();
        try (Scope scope = span.makeCurrent()) {
            withLock(() -> {
                held.countDown();
                while (!isWaiting(waiter.get())) {
                    sleep(1);
                }
                sleep(HOLD_MILLIS);
            });
        } finally {
            span.end();
        }
        return ids(span.getSpanContext()) + "}";
    }

    private static boolean isWaiting(Thread thread) {
        Thread.State state = thread == null ? null : thread.getState();
        return state == Thread.State.BLOCKED || state == Thread.State.WAITING;
    }

    /** The span's name is known late, as that of a request before its route. */
    private String price(AtomicReference<Thread> waiter) {
        Span span = Span.current();
        span.updateName("GET /price");
        long begun = System.nanoTime();
        waiter.set(Thread.currentThread());
        withLock(() -> {});
        long took = System.nanoTime() - begun;
        return ids(span.getSpanContext()) + ",\"at_most_ns\":" + took + "}";
    }

    private static String ids(SpanContext of) {
        return "{\"trace\":\"" + of.getTraceId() + "\",\"span\":\"" + of.getSpanId() + "\"";
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What an attacker may do who chooses the names of spans. */
    private static void names(Tracer tracer) {
        StringBuilder padding = new StringBuilder();
        for (int i = 0; i < 2000; i++) {
            padding.append('x');
        }
        for (int i = 0; i < 3000; i++) {
            Span span = tracer.spanBuilder("GET /\u001b[31m" + i + padding).startSpan();
            try (Scope scope = span.makeCurrent()) {
                LockSupport.parkNanos(1);
            }
            span.end();
        }
        System.out.println("{}");
    }

    /** Opens a scope for each of so many spans, and within it another one. */
    private static void scopes(Tracer tracer, int spans) {
        Context[] contexts = new Context[1000];
        for (int i = 0; i < contexts.length; i++) {
            Span span = tracer.spanBuilder("span " + i % 10).startSpan();
            contexts[i] = Context.root().with(span);
        }
        for (int i = 0; i < 5; i++) {
            change(contexts, 1_000_000);
        }
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            least = Math.min(least, change(contexts, 1_000_000));
        }
        long before = used();
        for (int i = 0; i < spans; i++) {
            Span span = tracer.spanBuilder("span " + i % 2000).startSpan();
            try (Scope scope = span.makeCurrent()) {
                if (i % 1000 == 0) {
                    LockSupport.parkNanos(1);
                }
            }
            span.end();
        }
        long grown = used() - before;
        // A scope is entered, and left: two changes.
        System.out.println("{\"pair_ns\":" + least / 1e6 + ",\"grown_bytes\":" + grown + "}");
    }

    private static long change(Context[] contexts, int times) {
        long begun = System.nanoTime();
        for (int i = 0; i < times; i++) {
            try (Scope scope = contexts[i % contexts.length].makeCurrent()) {
                if (scope == null) {
                    throw new IllegalStateException();
                }
            }
        }
        return System.nanoTime() - begun;
    }

    private static long used() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
