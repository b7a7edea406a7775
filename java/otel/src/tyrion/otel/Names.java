package tyrion.otel;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.sdk.trace.ReadableSpan;

/** The names of spans, if they are those of OpenTelemetry's SDK: it need not be there. */
final class Names {
    private Names() {}

    static boolean isReadable(Span span) {
        try {
            return span instanceof ReadableSpan;
        } catch (LinkageError e) {
            return false;
        }
    }

    /** The name now, or null. */
    static String of(Span span) {
        try {
            return span instanceof ReadableSpan ? ((ReadableSpan) span).getName() : null;
        } catch (LinkageError e) {
            return null;
        }
    }
}
