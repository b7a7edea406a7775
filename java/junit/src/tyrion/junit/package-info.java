/**
 * Tests of JUnit that fail when threads wait for locks: {@link tyrion.junit.LocksAtMost}, {@link
 * tyrion.junit.NoContention} and {@link tyrion.junit.NoDeadlockRisk}. With JUnit 5 and 6 they work
 * as they are; JUnit 4 needs a {@link tyrion.junit.TyrionRule}.
 */
package tyrion.junit;
