package tyrion.selfcheck;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Methods of the JDK that are synchronized and native, or that do their work in native code. */
final class Natives implements SelfCheck.Check {
    private static final String OPTION = "HeapDumpOnOutOfMemoryError";

    private final HotSpotDiagnosticMXBean jvm =
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);

    /** A class whose setters are static, synchronized and native: of now, and of JDK 8. */
    private static Class<?> flag() throws ClassNotFoundException {
        try {
            return Class.forName("com.sun.management.internal.Flag");
        } catch (ClassNotFoundException older) {
            return Class.forName("sun.management.Flag");
        }
    }

    @Override
    public void run() throws Exception {
        synchronizedAroundNative();
        Class<?> flag = flag();
        Method setter = flag.getDeclaredMethod("setBooleanValue", String.class, boolean.class);
        Locked.check(
                Modifier.isNative(setter.getModifiers())
                        && Modifier.isSynchronized(setter.getModifiers()),
                "no longer native and synchronized: " + setter);
        for (int i = 0; i < 20; i++) {
            set(i % 2 == 0);
            Locked.check(Boolean.parseBoolean(jvm.getVMOption(OPTION).getValue()) == (i % 2 == 0),
                    "the option's value");
        }
        Locked.free(flag, "the class of native methods");
        excludes(flag);
        set(false);
    }

    /** {@link Throwable#fillInStackTrace} is synchronized, and calls a native method. */
    private static void synchronizedAroundNative() {
        Throwable throwable = new Throwable();
        for (int i = 0; i < 100; i++) {
            Locked.check(throwable.fillInStackTrace() == throwable, "what it returns");
            Locked.check(throwable.getStackTrace()[0].getMethodName()
                    .equals("synchronizedAroundNative"), "the stack");
        }
        Locked.free(throwable, "the throwable");
    }

    /** While the class is locked no other thread gets into its synchronized native method. */
    private void excludes(Class<?> flag) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        synchronized (flag) {
            Thread setting = new Thread(() -> {
                set(true);
                done.countDown();
            });
            setting.setDaemon(true);
            setting.start();
            Locked.check(!done.await(100, TimeUnit.MILLISECONDS), "a native method excludes nobody");
        }
        Locked.check(done.await(20, TimeUnit.SECONDS), "a native method was not let in");
        Locked.free(flag, "the class of native methods, waited for");
    }

    private void set(boolean value) {
        jvm.setVMOption(OPTION, Boolean.toString(value));
    }
}
