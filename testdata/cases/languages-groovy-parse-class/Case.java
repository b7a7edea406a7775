import groovy.lang.GroovyClassLoader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Price rules of customers are Groovy scripts, compiled when they are first needed. */
public class Case {
    static final AtomicInteger rules = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();
    static final AtomicInteger lookups = new AtomicInteger();
    static final GroovyClassLoader shared = loader();

    /** Looks for classes that a script may mean among other scripts, on a network share. */
    static GroovyClassLoader loader() {
        GroovyClassLoader loader = new GroovyClassLoader();
        loader.setResourceLoader(name -> {
            lookups.incrementAndGet();
            pause(5);
            return null;
        });
        return loader;
    }

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        boolean own = args.length > 1 && args[1].equals("own-loader");
        for (int i = 0; i < 3; i++) {
            compile(loader());
        }
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(own), "quote-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        rules.set(0);
        lookups.set(0);
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
        System.out.println("proof: rules=" + rules + " lookups=" + lookups);
        System.out.printf("proof: seconds_in_parseClass=%.1f of %.1f%n", nanos.get() / 1e9,
            threads.length * (System.nanoTime() - begun) / 1e9);
        System.out.println("proof: waiting_percent=" + 100 * waiting / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(boolean own) {
        while (true) {
            long t = System.nanoTime();
            compile(own ? loader() : shared);
            nanos.addAndGet(System.nanoTime() - t);
            pause(15); // the rest of the quote
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static Class<?> compile(GroovyClassLoader loader) {
        int number = rules.incrementAndGet();
        StringBuilder rule = new StringBuilder("def price = 100 + " + number + "\n");
        for (int i = 0; i < 4; i++) {
            rule.append("if (binding.hasVariable('article").append(i).append("')) { price = Rebate").append(i)
                .append(".of(price) }\n");
        }
        return loader.parseClass(rule + "return price\n", "Rule" + number + ".groovy");
    }
}
