import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.atomic.AtomicLong;
import scala.reflect.api.JavaUniverse;

/** Plug-ins, each with a class loader of its own; their types are looked at by Scala's reflection. */
public class Case {
    static final AtomicLong looked = new AtomicLong();
    static final AtomicLong nanos = new AtomicLong();
    static final AtomicLong loads = new AtomicLong();
    static final String[] types = {"scala.util.Random", "scala.util.matching.Regex", "scala.util.Try", "scala.Option"};

    /** Looks each class up on a network share. */
    static class PlugIn extends URLClassLoader {
        PlugIn() {
            super(new URL[0], Case.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            loads.incrementAndGet();
            pause(2);
            return super.loadClass(name, resolve);
        }
    }

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        members(types[0]);
        Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> serve(number), "plugin-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        looked.set(0);
        nanos.set(0);
        long begun = System.nanoTime();
        int waiting = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            Thread.sleep(50);
            for (Thread thread : threads) {
                seen++;
                waiting += thread.getState() == Thread.State.WAITING ? 1 : 0;
            }
        }
        System.out.println("proof: looked=" + looked + " loads=" + loads);
        System.out.printf("proof: seconds_in_reflection=%.1f of %.1f%n", nanos.get() / 1e9,
            threads.length * (System.nanoTime() - begun) / 1e9);
        System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(int number) {
        for (int i = number; ; i++) {
            long t = System.nanoTime();
            members(types[i % types.length]);
            nanos.addAndGet(System.nanoTime() - t);
            looked.incrementAndGet();
            pause(10); // what the plug-in is for
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How many members the type has, as a serializer asks. */
    static int members(String type) {
        JavaUniverse universe = scala.reflect.runtime.package$.MODULE$.universe();
        var mirror = (scala.reflect.api.Mirror) universe.runtimeMirror(new PlugIn());
        var symbol = (scala.reflect.api.Symbols.ClassSymbolApi) mirror.staticClass(type);
        var all = ((scala.reflect.api.Types.TypeApi) symbol.toType()).members();
        return ((scala.collection.Iterable<?>) (Object) all).size();
    }
}
