package tyrion.otel;

import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Has Tyrion know in which spans of OpenTelemetry threads wait for locks, and hold them.
 *
 * <p>OpenTelemetry's agent and its autoconfiguration find it by themselves. Other programs call
 * {@link #install()} before they use {@code Context} for the first time.
 */
public final class Tracing implements AutoConfigurationCustomizerProvider {
    private static final AtomicBoolean INSTALLED = new AtomicBoolean();

    /** For OpenTelemetry's autoconfiguration. */
    public Tracing() {}

    /** Installs it, once. Later than OpenTelemetry's first context, it has no effect. */
    public static void install() {
        if (INSTALLED.compareAndSet(false, true)) {
            ContextStorage.addWrapper(Storage::new);
        }
    }

    @Override
    public void customize(AutoConfigurationCustomizer configuration) {
        install();
    }

    private static final class Storage implements ContextStorage {
        private final ContextStorage storage;

        Storage(ContextStorage storage) {
            this.storage = storage;
        }

        @Override
        public Scope attach(Context context) {
            Scope scope = storage.attach(context);
            // Nothing changes by a scope that is none.
            return !Spans.isOn() || context == null || scope == Scope.noop()
                    ? scope
                    : Spans.enter(context, scope);
        }

        @Override
        public Context current() {
            return storage.current();
        }

        @Override
        public Context root() {
            return storage.root();
        }
    }
}
