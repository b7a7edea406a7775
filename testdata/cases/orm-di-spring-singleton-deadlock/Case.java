import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.context.support.GenericApplicationContext;

/**
 * A registry that gets a meter's bean from the context when it reads it, under its lock; and a
 * bean that registers a meter when it is made, under the context's lock.
 */
public class Case {
  static final AtomicLong reads = new AtomicLong();
  static final int QUEUES = 160;
  static volatile long lastRead;
  static long began;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    boolean early = args.length > 1 && args[1].equals("early");
    GenericApplicationContext context = new GenericApplicationContext();
    context.registerBean(MeterRegistry.class, () -> new MeterRegistry(context));
    for (int i = 0; i < QUEUES; i++) {
      String name = "queue-" + i;
      context.registerBean(
          name, Queue.class, () -> new Queue(name, context.getBean(MeterRegistry.class)),
          definition -> definition.setLazyInit(true));
    }
    context.refresh();
    MeterRegistry registry = context.getBean(MeterRegistry.class);
    for (int i = 0; i < (early ? QUEUES : 1); i++) {
      context.getBean("queue-" + i);
    }
    began = System.nanoTime();
    lastRead = start;
    start("exporter", () -> export(registry));
    Thread.sleep(1000);
    for (int i = 0; i < 4; i++) {
      start("http-" + i, () -> serve(context));
    }
    Thread.sleep(Math.max(0, seconds * 1000L - (System.nanoTime() - start) / 1_000_000));
    int blocked = 0;
    Thread[] all = new Thread[50];
    int n = Thread.enumerate(all);
    for (int i = 0; i < n; i++) {
      blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
    }
    System.out.println("proof: reads=" + reads.get());
    System.out.printf("proof: last_read_after_seconds=%.1f%n", (lastRead - start) / 1e9);
    System.out.println("proof: blocked_threads_at_end=" + blocked);
    long[] dead = java.lang.management.ManagementFactory.getThreadMXBean().findDeadlockedThreads();
    System.out.println("proof: threads_in_a_circle=" + (dead == null ? 0 : dead.length));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void start(String name, Runnable work) {
    Thread t = new Thread(work, name);
    t.setDaemon(true);
    t.start();
  }

  static String newest() {
    return "queue-" + Math.min(QUEUES - 1, (System.nanoTime() - began) / 50_000_000);
  }

  static void export(MeterRegistry registry) {
    while (true) {
      registry.read(newest());
      reads.incrementAndGet();
      lastRead = System.nanoTime();
      pause(5);
    }
  }

  static void serve(GenericApplicationContext context) {
    while (true) {
      context.getBean(newest(), Queue.class);
      pause(5);
    }
  }

  static class MeterRegistry {
    private final GenericApplicationContext context;
    private final List<String> meters = new ArrayList<>();

    MeterRegistry(GenericApplicationContext context) {
      this.context = context;
    }

    synchronized void register(String meter) {
      meters.add(meter);
    }

    synchronized int read(String meter) {
      pause(2);
      return context.getBean(meter, Queue.class).length();
    }
  }

  static class Queue {
    Queue(String name, MeterRegistry registry) {
      pause(10); // connects to the broker
      registry.register(name);
    }

    int length() {
      return 1;
    }
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
