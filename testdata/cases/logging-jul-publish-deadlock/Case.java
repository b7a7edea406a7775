import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;

/** Accounts that are logged as parameters, and that log while they are locked themselves. */
public class Case {
  static final Logger LOG = Logger.getLogger("bank");
  static final AtomicLong done = new AtomicLong();
  static volatile long lastDone;

  public static void main(String[] args) throws Exception {
    int seconds = Integer.parseInt(args[0]);
    long start = System.nanoTime();
    boolean asText = args.length > 1 && args[1].equals("as-text");
    LOG.setUseParentHandlers(false);
    LOG.addHandler(new StreamHandler(java.io.OutputStream.nullOutputStream(), new SimpleFormatter()));
    Account account = new Account();
    lastDone = start;
    account.deposit(); // loads what logging needs
    for (int i = 0; i < 4; i++) {
      start("teller-" + i, account::deposit);
    }
    Thread.sleep(1000);
    for (int i = 0; i < 2; i++) {
      start("auditor-" + i, () -> audit(account, asText));
    }
    Thread.sleep((seconds - 1) * 1000L);
    int blocked = 0;
    Thread[] all = new Thread[50];
    int n = Thread.enumerate(all);
    for (int i = 0; i < n; i++) {
      blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
    }
    System.out.println("proof: done=" + done.get());
    System.out.printf("proof: last_done_after_seconds=%.1f%n", (lastDone - start) / 1e9);
    System.out.println("proof: blocked_threads_at_end=" + blocked);
    long[] dead = java.lang.management.ManagementFactory.getThreadMXBean().findDeadlockedThreads();
    System.out.println("proof: threads_in_a_circle=" + (dead == null ? 0 : dead.length));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static void audit(Account account, boolean asText) {
    if (asText) {
      LOG.log(Level.INFO, "audited {0}", account.toString());
    } else {
      LOG.log(Level.INFO, "audited {0}", account); // formatted under the handler's lock
    }
  }

  static void start(String name, Runnable work) {
    Thread t =
        new Thread(
            () -> {
              while (true) {
                work.run();
                lastDone = System.nanoTime();
                done.incrementAndGet();
                try {
                  Thread.sleep(2);
                } catch (InterruptedException e) {
                  return;
                }
              }
            },
            name);
    t.setDaemon(true);
    t.start();
  }

  static class Account {
    private long balance;

    synchronized void deposit() {
      balance++;
      LOG.log(Level.INFO, "deposited, now {0}", balance);
    }

    @Override
    public synchronized String toString() {
      return "account with " + balance;
    }
  }
}
