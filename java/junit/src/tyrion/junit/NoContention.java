package tyrion.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The test fails if one of its threads waits for a lock that another one has. On a class, it is
 * about each of its tests.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@ExtendWith(TyrionExtension.class)
public @interface NoContention {
    /**
     * Which locks: only those whose class or name a regular expression matches.
     *
     * @return the expression; empty for all
     */
    String lock() default "";

    /**
     * Shorter waits do not count: the JVM itself has short ones.
     *
     * @return such as {@code "1 ms"}; units are ns, us, ms and s
     */
    String atLeast() default "1 ms";
}
