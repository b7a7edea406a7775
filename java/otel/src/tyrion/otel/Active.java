package tyrion.otel;

import io.opentelemetry.context.Scope;

/** A scope, and the span that a thread is in meanwhile. */
final class Active implements Scope {
    // The agent reads these.

    /** The span, where the agent reads the name from it: that may still change. */
    final Object span;

    /** The name, where it does not. */
    final String name;

    /** The ids in hexadecimal digits; null for none. */
    final String trace;

    final String id;

    final int depth;

    private final Scope scope;
    private final Slot slot;
    private final Active before;

    Active(
            Object span,
            String name,
            String trace,
            String id,
            Scope scope,
            Slot slot,
            Active before) {
        this.span = span;
        this.name = name;
        this.trace = trace;
        this.id = id;
        this.scope = scope;
        this.slot = slot;
        this.before = before;
        depth = before == null ? 0 : before.depth + 1;
    }

    /** As OpenTelemetry's own scopes: nothing happens out of order, or on another thread. */
    @Override
    public void close() {
        scope.close();
        if (slot.active == this && slot.thread == Thread.currentThread().getId()) {
            slot.active = before;
        }
    }
}
