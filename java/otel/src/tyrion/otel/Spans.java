package tyrion.otel;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;

/**
 * What the agent knows of spans.
 *
 * <p>A change of scope stores a reference, and calls nothing of the agent. The agent reads what it
 * refers to when it records something.
 */
final class Spans {
    /** So many scopes within each other are known: a program may forget to close them. */
    private static final int MOST_OPEN = 256;

    /**
     * Whether there is an agent. The agent sets it in classes that were initialized before it came.
     * There must be no other value at first than the one that the JVM gives it.
     */
    private static volatile boolean agent;

    private static final ThreadLocal<Slot> SLOT = ThreadLocal.withInitial(Slot::new);

    /** The class of spans whose names the agent reads itself, and the last one that is none. */
    private static volatile Class<?> named;

    private static volatile Class<?> unnamed;

    static {
        try {
            if (state0() != 0) {
                agent = true;
            }
        } catch (UnsatisfiedLinkError e) {
            // No agent so far.
        }
    }

    private Spans() {}

    static boolean isOn() {
        return agent;
    }

    /** What closes a scope that has just been opened: it, and what the agent is told of it. */
    static Scope enter(Context context, Scope scope) {
        try {
            Slot slot = SLOT.get();
            if (!slot.isKnown) {
                slot.isKnown = slot0(Thread.currentThread(), slot, Active.class);
            }
            Active before = slot.active;
            if (before != null && before.depth >= MOST_OPEN) {
                before = null;
            }
            Active active = of(Span.fromContextOrNull(context), scope, slot, before);
            slot.active = active;
            return active;
        } catch (RuntimeException | LinkageError e) {
            // A span of another kind than those that are known: the program goes on without.
            return scope;
        }
    }

    private static Active of(Span span, Scope scope, Slot slot, Active before) {
        SpanContext ids = span == null ? null : span.getSpanContext();
        if (ids == null || !ids.isValid()) {
            return new Active(null, null, null, null, scope, slot, before);
        }
        boolean isNamed = isNamed(span);
        String name = isNamed ? null : Names.of(span);
        // Nobody will find one that is not sampled.
        boolean isSampled = ids.isSampled();
        String trace = isSampled ? ids.getTraceId() : null;
        String id = isSampled ? ids.getSpanId() : null;
        return new Active(isNamed ? span : null, name, trace, id, scope, slot, before);
    }

    private static boolean isNamed(Span span) {
        Class<?> of = span.getClass();
        return of == named || of != unnamed && look(span, of);
    }

    private static boolean look(Span span, Class<?> of) {
        if (Names.isReadable(span) && named0(of)) {
            named = of;
            return true;
        }
        unnamed = of;
        return false;
    }

    // What the agent has, see agent/src/agent/api.rs. None throws once it is linked.

    private static native int state0();

    /** Has the agent read a thread's slot; false as long as it cannot. */
    private static native boolean slot0(Thread current, Slot slot, Class<?> active);

    /** Has the agent read the names of spans of a class: whether it can. */
    private static native boolean named0(Class<?> spans);
}
