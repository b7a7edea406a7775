import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.context.support.GenericApplicationContext;

/** Each tenant has a lazy bean that reads its settings when the tenant's first request comes. */
public class Case {
    static final AtomicInteger next = new AtomicInteger();
    static final AtomicInteger made = new AtomicInteger();
    static final AtomicLong nanos = new AtomicLong();

    public static class Settings {
        public Settings() {
            pause(40); // the tenant's database
            made.incrementAndGet();
        }
    }

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        int seconds = Integer.parseInt(args[0]);
        GenericApplicationContext context = new GenericApplicationContext();
        for (int i = 0; i < 4000; i++) {
            AbstractBeanDefinition tenant = BeanDefinitionBuilder.genericBeanDefinition(Settings.class, Settings::new)
                .setLazyInit(true).getBeanDefinition();
            context.registerBeanDefinition("tenant-" + i, tenant);
        }
        context.refresh();
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(context), "request-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        int blocked = 0;
        int seen = 0;
        while (System.nanoTime() - start < seconds * 1_000_000_000L) {
            pause(50);
            for (Thread thread : threads) {
                seen++;
                blocked += thread.getState() == Thread.State.BLOCKED ? 1 : 0;
            }
        }
        System.out.println("proof: tenants=" + made);
        System.out.println("proof: mean_ms=" + nanos.get() / 1_000_000 / Math.max(1, made.get()) + " to_make_ms=40");
        System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void serve(GenericApplicationContext context) {
        while (true) {
            long t = System.nanoTime();
            context.getBean("tenant-" + next.getAndIncrement() % 4000);
            nanos.addAndGet(System.nanoTime() - t);
            pause(5); // the request
        }
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
