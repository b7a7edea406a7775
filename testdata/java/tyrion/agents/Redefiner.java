package tyrion.agents;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * An agent that changes methods of one class again and again while they run: where they have the
 * number 12345 they get 12346, and back. The class is named after {@code =}; it waits until that is
 * loaded. The thread "redefiner" says "redefined" the first time.
 */
public final class Redefiner implements ClassFileTransformer {
    private static final byte SIPUSH = 0x11;
    private static final int NUMBER = 12345;

    private final String name;
    private volatile boolean changed;

    private Redefiner(String name) {
        this.name = name;
    }

    /** Given on the command line. */
    public static void premain(String name, Instrumentation jvm) {
        Redefiner redefiner = new Redefiner(name);
        jvm.addTransformer(redefiner, true);
        Thread thread = new Thread(() -> redefiner.run(jvm), "redefiner");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Instrumentation jvm) {
        try {
            for (boolean told = false; ; ) {
                for (Class<?> loaded : jvm.getAllLoadedClasses()) {
                    if (loaded.getName().equals(name)) {
                        changed = !changed;
                        jvm.retransformClasses(loaded);
                        if (!told) {
                            System.out.println("redefined");
                            told = true;
                        }
                    }
                }
                Thread.sleep(30);
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String of, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        if (!changed || !name.replace('.', '/').equals(of)) {
            return null;
        }
        byte[] other = bytes.clone();
        for (int i = 0; i + 2 < other.length; i++) {
            int number = (other[i + 1] & 0xff) << 8 | other[i + 2] & 0xff;
            if (other[i] == SIPUSH && number == NUMBER) {
                other[i + 2]++;
            }
        }
        return other;
    }
}
