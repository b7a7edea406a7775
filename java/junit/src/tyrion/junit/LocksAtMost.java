package tyrion.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The test fails if its threads wait for locks longer than this, all waits together. On a class, it
 * is about each of its tests.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@Repeatable(LocksAtMost.All.class)
@ExtendWith(TyrionExtension.class)
public @interface LocksAtMost {
    /**
     * How long they may wait, all together.
     *
     * @return such as {@code "50 ms"}; units are ns, us, ms and s
     */
    String waits();

    /**
     * Which locks: only those whose class or name a regular expression matches.
     *
     * @return the expression, such as {@code "Cache.*"}; empty for all
     */
    String lock() default "";

    /** Several of them. */
    @Documented
    @Inherited
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    @ExtendWith(TyrionExtension.class)
    @interface All {
        /**
         * All of them.
         *
         * @return at least one
         */
        LocksAtMost[] value();
    }
}
