package tyrion.identity;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import tyrion.support.Json;

/**
 * What a program knows of its own locks: where each was taken how often, and which waits there
 * were. Every place at which a lock is taken calls {@link #at} first of all, with a number of its
 * own as a constant, from which a test finds the instruction in the class file: the last one before
 * the call that takes a lock.
 *
 * <p>Contention is staged: a thread keeps a lock until another one is seen to wait for it. So how
 * often each place waits is known exactly, however late threads run.
 */
public final class Account {
    /** One more than the greatest number of a place. */
    private static final int PLACES = 1 << 15;

    private static final List<Json> ROUNDS = new ArrayList<>();
    private static final List<Json> LOCKS = new ArrayList<>();
    /** No lock is kept alive by its number. Locks are equal to nothing but themselves. */
    private static final Map<Object, Integer> NUMBERS = new WeakHashMap<>();

    private static String round = "first";
    private static int[] taken = new int[PLACES];
    private static List<Json> waits = new ArrayList<>();
    private static int contentions;

    private Account() {}

    /** The calling thread has just taken a lock, at the place with this number. */
    public static void at(Object lock, int place) {
        taken[place]++;
        Thread thread = Thread.currentThread();
        if (thread instanceof Actor) {
            ((Actor) thread).at(lock, place);
        }
    }

    /** The same, but not counted: of what is no acquisition of this place, or of another one, too. */
    public static void met(Object lock, int place) {
        Thread thread = Thread.currentThread();
        if (thread instanceof Actor) {
            ((Actor) thread).at(lock, place);
        }
    }

    /** A thread takes locks and keeps the first one until another one waits for it. */
    public static void contend(Runnable holding, Runnable waiting) {
        contend(0, holding, waiting);
    }

    /** The same, with the lock that it takes at this place. */
    public static void contend(int place, Runnable holding, Runnable waiting) {
        contentions++;
        Actor holder = new Actor("h" + contentions, holding, place, null);
        holder.start();
        Object lock = holder.awaitHeld();
        Actor waiter = new Actor("w" + contentions, waiting, 0, lock);
        waiter.start();
        waiter.awaitQueued();
        // It may have had the lock before, as another reader.
        waiter.want(lock);
        holder.release();
        holder.end();
        waiter.end();
        note(waiter, lock, "contention");
    }

    /**
     * A thread waits at one place and then at another one; between the two something else is done,
     * while the method in which it waits is on three stacks.
     */
    public static void contendTwice(int one, int next, Runnable both, Runnable between) {
        contentions++;
        Actor last = new Actor("h" + contentions, both, next, null);
        last.start();
        Object later = last.awaitHeld();
        contentions++;
        Actor first = new Actor("h" + contentions, both, one, null);
        first.start();
        Object lock = first.awaitHeld();
        Actor waiter = new Actor("w" + contentions, both, 0, lock);
        waiter.start();
        waiter.awaitQueued();
        between.run();
        first.release();
        first.end();
        int met = waiter.awaitMet();
        waits.add(wait(waiter, met, lock, "contention"));
        waiter.want(later);
        waiter.awaitQueued();
        last.release();
        last.end();
        waiter.end();
        note(waiter, later, "contention");
    }

    /** A thread takes the monitor of a lock and waits to be notified. */
    public static void awaitNotified(Object lock, Runnable waiting) {
        contentions++;
        Actor waiter = new Actor("w" + contentions, waiting, 0, lock);
        waiter.start();
        waiter.awaitWaiting();
        // It had the monitor before.
        waiter.want(lock);
        synchronized (lock) {
            lock.notifyAll();
        }
        waiter.end();
        note(waiter, lock, "object-wait");
    }

    private static void note(Actor waiter, Object lock, String kind) {
        waits.add(wait(waiter, waiter.met(), lock, kind));
    }

    private static Json wait(Actor waiter, int place, Object lock, String kind) {
        Json wait = new Json().put("thread", waiter.getName()).put("place", place);
        return wait.put("lock", number(lock)).put("kind", kind);
    }

    /** The lock's number, which no other one has. */
    private static int number(Object lock) {
        Integer known = NUMBERS.get(lock);
        if (known == null) {
            known = LOCKS.size();
            NUMBERS.put(lock, known);
            LOCKS.add(new Json()
                    .put("lock", known)
                    .put("class", lock.getClass().getName())
                    .put("hash", System.identityHashCode(lock)));
        }
        return known;
    }

    /** What follows belongs to another round: the account so far is closed. */
    public static void round(String next) {
        List<Json> places = new ArrayList<>();
        for (int place = 0; place < PLACES; place++) {
            if (taken[place] > 0) {
                places.add(new Json().put("place", place).put("taken", taken[place]));
            }
        }
        Json closed = new Json().put("round", round).put("taken", places);
        ROUNDS.add(closed.put("waits", waits));
        round = next;
        taken = new int[PLACES];
        waits = new ArrayList<>();
    }

    /** With {@code -Dtruth.go=FILE}: says "ready" and waits until there is that file. */
    public static void begin() {
        String go = System.getProperty("truth.go");
        if (go != null) {
            say("ready");
            awaitFile(Paths.get(go));
        }
    }

    /**
     * With {@code -Didentity.steps=FOLDER}: says the step's name and waits until there is a file of
     * that name. A new round begins.
     */
    public static void step(String name) {
        round(name);
        String folder = System.getProperty("identity.steps");
        if (folder != null) {
            say(name);
            awaitFile(Paths.get(folder, name));
        }
    }

    /** Prints the account. */
    public static void end() {
        round("");
        say(new Json().put("rounds", ROUNDS).put("locks", LOCKS).toString());
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void awaitFile(Path file) {
        Actor.await(() -> Files.exists(file));
    }
}
