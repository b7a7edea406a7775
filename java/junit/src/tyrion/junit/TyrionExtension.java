package tyrion.junit;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** The extension of JUnit 5 and 6. The annotations of this package bring it. */
public final class TyrionExtension
        implements BeforeTestExecutionCallback, AfterTestExecutionCallback {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(TyrionExtension.class);

    /** Made by JUnit. */
    public TyrionExtension() {}

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        Settings settings = settings(context);
        String test =
                context.getRequiredTestClass().getName()
                        + "." + context.getRequiredTestMethod().getName();
        try {
            Watch watch =
                    Watch.begin(
                            settings,
                            test,
                            Limit.of(
                                    context.getRequiredTestMethod(),
                                    context.getRequiredTestClass()));
            if (watch != null) {
                store(context).put(context.getUniqueId(), watch);
            }
        } catch (MissingException e) {
            without(settings, e);
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        Watch watch = store(context).remove(context.getUniqueId(), Watch.class);
        if (watch == null) {
            return;
        }
        try {
            String broken = watch.end();
            // What the test itself says comes first.
            if (broken != null && !context.getExecutionException().isPresent()) {
                throw new AssertionFailedError(broken);
            }
        } catch (MissingException e) {
            without(settings(context), e);
        }
    }

    private static Settings settings(ExtensionContext context) {
        return new Settings(name -> context.getConfigurationParameter(name).orElse(null));
    }

    private static ExtensionContext.Store store(ExtensionContext context) {
        return context.getStore(NAMESPACE);
    }

    private static void without(Settings settings, MissingException e) {
        if (settings.failsWithout()) {
            throw new AssertionFailedError(e.getMessage());
        }
        throw new TestAbortedException(e.getMessage());
    }
}
