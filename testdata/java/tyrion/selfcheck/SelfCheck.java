package tyrion.selfcheck;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Checks that locks do what the language says, however they are taken and left: {@code java
 * tyrion.selfcheck.SelfCheck [CHECK...]}, several times with {@code -Dselfcheck.times=N}.
 * Establishes, run under a profiler that rewrites classes, that the rewritten ones still do. Prints
 * "OK" and exits with 0 only if all is right; else says what is wrong.
 */
public final class SelfCheck {
    private static final Map<String, Supplier<Check>> CHECKS = new LinkedHashMap<>();

    static {
        CHECKS.put("nested", Nested::new);
        CHECKS.put("exits", Exits::new);
        CHECKS.put("flow", Flow::new);
        CHECKS.put("wide", WideLocals::new);
        CHECKS.put("places", Places::new);
        CHECKS.put("exclusion", Exclusion::new);
        CHECKS.put("overflow-method", Overflow::ofMethods);
        CHECKS.put("overflow-block", Overflow::ofBlocks);
        CHECKS.put("overflow-mixed", Overflow::ofMixed);
        CHECKS.put("overflow-leaf", Overflow::ofLeaves);
        CHECKS.put("waiting", Waiting::new);
        CHECKS.put("conditions", Conditions::new);
        CHECKS.put("two-loaders", TwoLoaders::new);
        CHECKS.put("native", Natives::new);
        CHECKS.put("illegal", Illegal::new);
        CHECKS.put("unusual-locks", UnusualLocks::new);
        CHECKS.put("concurrent", Concurrent::new);
        CHECKS.put("many-held", ManyHeld::new);
    }

    /** What failed, if anything. */
    static final class Wrong extends RuntimeException {
        private static final long serialVersionUID = 1;

        Wrong(String message) {
            super(message);
        }
    }

    /** One check. */
    interface Check {
        void run() throws Exception;
    }

    private SelfCheck() {}

    public static void main(String[] names) {
        System.out.println("begun");
        for (int times = Integer.getInteger("selfcheck.times", 1); times > 0; times--) {
            for (String name : names.length == 0 ? CHECKS.keySet() : Arrays.asList(names)) {
                check(name);
            }
        }
        System.out.println("OK");
    }

    private static void check(String name) {
        try {
            CHECKS.get(name).get().run();
        } catch (Throwable problem) {
            System.out.println("WRONG: " + name + ": " + problem);
            problem.printStackTrace();
            System.exit(1);
        }
    }
}
