package tyrion.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The test fails if its threads take locks within each other in a ring: in one order here, in
 * another there, so that each could hold one and wait for the next for ever. It need not have
 * happened. On a class, it is about each of its tests.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@ExtendWith(TyrionExtension.class)
public @interface NoDeadlockRisk {}
