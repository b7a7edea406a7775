import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;

/** Annotation processors of several modules use JavaPoet for the first time at the same moment. */
public class Case {
    static final AtomicInteger stuck = new AtomicInteger();

    static Thread processor(String name, ClassLoader loader, String type, CyclicBarrier start) {
        Thread thread = new Thread(() -> {
            try {
                start.await();
                generate(loader, type);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** What generated code begins with: the names of the types in it. */
    static void generate(ClassLoader loader, String type) throws Exception {
        Class.forName("com.squareup.javapoet." + type, true, loader);
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        URL library = Class.forName("com.squareup.javapoet.TypeName", false, Case.class.getClassLoader())
                .getProtectionDomain().getCodeSource().getLocation();
        List<Thread> all = new ArrayList<>();
        int rounds = 0;
        // A module's loader each; most modules are lucky. Ends as soon as four pairs are stuck.
        while (stuck.get() < 8 && System.nanoTime() < end) {
            rounds++;
            URLClassLoader module = new URLClassLoader(new URL[] {library}, ClassLoader.getPlatformClassLoader());
            CyclicBarrier start = new CyclicBarrier(2);
            Thread one = processor("processor-" + rounds + "-classes", module, "ClassName", start);
            Thread two = processor("processor-" + rounds + "-types", module, "TypeName", start);
            one.join(150);
            two.join(150);
            if (one.isAlive() && two.isAlive()) {
                all.add(one);
                all.add(two);
                stuck.addAndGet(2);
            }
        }
        System.out.println("proof: rounds=" + rounds + " threads_stuck=" + stuck.get()
                + " after_ms=" + (seconds * 1000 - (end - System.nanoTime()) / 1_000_000));
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        System.out.println("proof: still_alive=" + all.stream().filter(Thread::isAlive).count());
        for (Thread thread : all.subList(0, Math.min(2, all.size()))) {
            System.out.println("proof: " + thread.getName() + " " + thread.getState() + " at " + thread.getStackTrace()[0]);
        }
        Runtime.getRuntime().halt(0);
    }
}
