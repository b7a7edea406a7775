package tyrion.junit;

import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** What a test promises of locks. */
final class Limit {
    /** What is looked at. */
    enum Of {
        WAIT,
        CONTENTION,
        ORDER
    }

    private final Of of;
    private final String lock;
    private final long nanos;

    private Limit(Of of, String lock, long nanos) {
        this.of = of;
        this.lock = lock;
        this.nanos = nanos;
    }

    Of of() {
        return of;
    }

    /** How long is allowed: in all, or of a single wait. */
    long nanos() {
        return nanos;
    }

    /** Those of a method; where it has none of a kind, those of its class. */
    static List<Limit> of(AnnotatedElement method, AnnotatedElement type) {
        List<Limit> limits = new ArrayList<>();
        for (LocksAtMost most : ofEither(LocksAtMost.class, method, type)) {
            limits.add(new Limit(Of.WAIT, most.lock(), nanos(most.waits())));
        }
        for (NoContention none : ofEither(NoContention.class, method, type)) {
            limits.add(new Limit(Of.CONTENTION, none.lock(), nanos(none.atLeast())));
        }
        if (!ofEither(NoDeadlockRisk.class, method, type).isEmpty()) {
            limits.add(new Limit(Of.ORDER, "", 0));
        }
        return limits;
    }

    private static <A extends java.lang.annotation.Annotation> List<A> ofEither(
            Class<A> annotation, AnnotatedElement method, AnnotatedElement type) {
        for (AnnotatedElement element : Arrays.asList(method, type)) {
            if (element != null && element.getAnnotationsByType(annotation).length > 0) {
                return Arrays.asList(element.getAnnotationsByType(annotation));
            }
        }
        return Collections.emptyList();
    }

    /** Options of {@code tyrion report}, beside those of which test it is. */
    List<String> options() {
        List<String> options = new ArrayList<>();
        if (!lock.isEmpty()) {
            options.add("--lock=" + lock);
        }
        if (of == Of.CONTENTION && nanos > 0) {
            options.add("--min-wait=" + nanos + "ns");
        }
        return options;
    }

    @Override
    public String toString() {
        String which = lock.isEmpty() ? "locks" : "locks like " + lock;
        switch (of) {
            case WAIT:
                return "may wait " + Text.duration(nanos) + " for " + which;
            case CONTENTION:
                return nanos > 0
                        ? "may not wait " + Text.duration(nanos) + " or longer for " + which
                        : "may not wait for " + which;
            default:
                return "may not take locks in a ring";
        }
    }

    /** A duration such as {@code 1.5 ms}. */
    static long nanos(String text) {
        String plain = text.trim().toLowerCase(Locale.ROOT).replace('\u00b5', 'u');
        int end = 0;
        while (end < plain.length() && "0123456789.".indexOf(plain.charAt(end)) >= 0) {
            end++;
        }
        try {
            double value = Double.parseDouble(plain.substring(0, end));
            return Math.round(value * unit(plain.substring(end).trim(), value).toNanos(1));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "\"" + text + "\" is no duration; one is such as \"50 ms\"");
        }
    }

    private static TimeUnit unit(String name, double value) {
        switch (name) {
            case "ns":
                return TimeUnit.NANOSECONDS;
            case "us":
                return TimeUnit.MICROSECONDS;
            case "ms":
                return TimeUnit.MILLISECONDS;
            case "s":
                return TimeUnit.SECONDS;
            case "min":
                return TimeUnit.MINUTES;
            default:
                // Nothing needs no unit.
                if (name.isEmpty() && value == 0) {
                    return TimeUnit.NANOSECONDS;
                }
                throw new IllegalArgumentException(name);
        }
    }
}
