package tyrion.junit;

import java.lang.reflect.AnnotatedElement;
import java.util.List;
import org.junit.AssumptionViolatedException;
import org.junit.rules.TestRule;
import org.junit.runner.Description;
import org.junit.runners.model.Statement;

/**
 * The rule of JUnit 4, which heeds the annotations of this package.
 *
 * <pre>{@code
 * @Rule public final TyrionRule tyrion = new TyrionRule();
 * }</pre>
 */
public final class TyrionRule implements TestRule {
    /** A rule. */
    public TyrionRule() {}

    @Override
    public Statement apply(Statement base, Description description) {
        return new Statement() {
            @Override
            public void evaluate() throws Throwable {
                run(base, description);
            }
        };
    }

    private static void run(Statement base, Description description) throws Throwable {
        Settings settings = new Settings(name -> null);
        String test = description.getClassName() + "." + description.getMethodName();
        Watch watch = null;
        try {
            watch = Watch.begin(settings, test, limits(description));
        } catch (MissingException e) {
            without(settings, e);
        }
        boolean isPassed = false;
        String broken = null;
        try {
            base.evaluate();
            isPassed = true;
        } finally {
            try {
                broken = watch == null ? null : watch.end();
            } catch (MissingException e) {
                // What the test itself says comes first.
                if (isPassed) {
                    without(settings, e);
                }
            }
        }
        if (broken != null) {
            throw new AssertionError(broken);
        }
    }

    private static List<Limit> limits(Description description) {
        return Limit.of(new Annotated(description), description.getTestClass());
    }

    private static void without(Settings settings, MissingException e) {
        if (settings.failsWithout()) {
            throw new AssertionError(e.getMessage());
        }
        throw new AssumptionViolatedException(e.getMessage());
    }

    /** What is written at a test, of which JUnit 4 does not tell the method. */
    private static final class Annotated implements AnnotatedElement {
        private final Description description;

        Annotated(Description description) {
            this.description = description;
        }

        @Override
        public <A extends java.lang.annotation.Annotation> A getAnnotation(Class<A> type) {
            return description.getAnnotation(type);
        }

        @Override
        public java.lang.annotation.Annotation[] getAnnotations() {
            return description.getAnnotations().toArray(new java.lang.annotation.Annotation[0]);
        }

        @Override
        public java.lang.annotation.Annotation[] getDeclaredAnnotations() {
            return getAnnotations();
        }
    }
}
