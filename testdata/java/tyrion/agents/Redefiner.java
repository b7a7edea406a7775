package tyrion.agents;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * An agent that changes methods of one class again and again while they run: where they have the
 * number 12345 they get 12346, and back. The class is named after {@code =}; it waits until that is
 * loaded. The thread "redefiner" says "redefined" the first time. Between two changes there are 30
 * ms, or as many as are told behind a comma.
 */
public final class Redefiner implements ClassFileTransformer {
    private static final byte SIPUSH = 0x11;
    private static final int NUMBER = 12345;

    private final String name;
    private final int pauseMillis;
    private volatile boolean changed;
    private volatile boolean ended;

    private Redefiner(String[] words) {
        name = words[0];
        pauseMillis = words.length > 1 ? Integer.parseInt(words[1]) : 30;
    }

    /** Given on the command line. */
    public static void premain(String arguments, Instrumentation jvm) {
        Redefiner redefiner = new Redefiner(arguments.split(","));
        jvm.addTransformer(redefiner, true);
        Thread thread = new Thread(() -> redefiner.run(jvm), "redefiner");
        thread.setDaemon(true);
        thread.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            // A JVM that ends changes no class.
            redefiner.ended = true;
            try {
                thread.join();
            } catch (InterruptedException e) {
                thread.interrupt();
            }
        }));
    }

    private void run(Instrumentation jvm) {
        try {
            for (boolean told = false; !ended; ) {
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
                Thread.sleep(pauseMillis);
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
