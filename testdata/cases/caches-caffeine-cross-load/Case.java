import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/** A directory whose users come with their team and whose teams come with their leader. */
public class Case {
  static final AtomicLong answers = new AtomicLong();
  static volatile long lastAnswer;
  static long start;

  public static void main(String[] args) throws Exception {
    start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    Directory directory = new Directory(args.length > 1 && args[1].equals("by-name"));
    directory.entries.get("user:warm");
    lastAnswer = start;
    Thread[] threads = new Thread[6];
    for (int i = 0; i < threads.length; i++) {
      String kind = i < 3 ? "user" : "team";
      if (i == 3) {
        Thread.sleep(1500); // the page of teams is opened later
      }
      threads[i] = new Thread(() -> serve(directory, kind), kind + "s-" + i);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    int blocked = 0;
    int seen = 0;
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      for (Thread t : threads) {
        seen++;
        blocked += t.getState() == Thread.State.BLOCKED ? 1 : 0;
      }
    }
    System.out.println("proof: answers=" + answers.get());
    System.out.printf("proof: last_answer_after_seconds=%.1f%n", (lastAnswer - start) / 1e9);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    long[] dead = java.lang.management.ManagementFactory.getThreadMXBean().findDeadlockedThreads();
    System.out.println("proof: threads_in_a_circle=" + (dead == null ? 0 : dead.length));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void serve(Directory directory, String kind) {
    while (true) {
      long newest = (System.nanoTime() - start) / 50_000_000;
      directory.entries.get(kind + ":" + newest);
      answers.incrementAndGet();
      lastAnswer = System.nanoTime();
      pause(2);
    }
  }

  static class Directory {
    final LoadingCache<String, String> entries =
        Caffeine.newBuilder().maximumSize(10_000).initialCapacity(10_000).build(this::load);
    private final ThreadLocal<Set<String>> path = ThreadLocal.withInitial(HashSet::new);
    private final boolean byName;

    Directory(boolean byName) {
      this.byName = byName;
    }

    private String load(String key) {
      path.get().add(key);
      try {
        pause(5); // asks the directory server
        String other = (key.startsWith("user:") ? "team:" : "user:") + key.substring(5);
        if (byName || path.get().contains(other)) {
          return key + " of " + other; // by name only, it is looked up when it is needed
        }
        return key + " of " + entries.get(other);
      } finally {
        path.get().remove(key);
      }
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
