package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.support.Json;

/**
 * {@code parked-over FOLDER}: two virtual threads wait while something else happens. "vlock" waits
 * for a lock that the main thread holds, "vpark" parks. It prints "ready", and begins once the file
 * "begin" is in the folder; it prints "parked" once both were seen to wait, "noted" when the file
 * "seen" is there, and lets them go on when the file "end" is. "vpark" then parks once more. In {@code waits} stand, for each of the
 * three waits, the thread, the kind, and between which times it took, {@code least_ns}, of
 * the first two since "noted", and {@code wait_ns}.
 */
final class ParkedOver implements Scenario {
    private final ReentrantLock lock = new ReentrantLock();
    private final List<Json> waits = new ArrayList<>();
    private volatile boolean released;
    private volatile boolean releasedAgain;
    private volatile long lockNanos;
    private volatile long parkNanos;
    private volatile long parkAgainNanos;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        Path folder = Paths.get(arguments.text(0, "."));
        Thread locks = VirtualThreads.named("vlock").newThread(this::lock);
        Thread parks = VirtualThreads.named("vpark").newThread(this::park);
        await(folder, "ready", "begin");
        lock.lock();
        locks.start();
        parks.start();
        Threads.awaitWaiting(locks);
        Threads.awaitWaiting(parks);
        await(folder, "parked", "seen");
        long since = System.nanoTime();
        await(folder, "noted", "end");
        long released = System.nanoTime();
        lock.unlock();
        locks.join();
        add("vlock", "lock", released - since, lockNanos);

        this.released = true;
        released = System.nanoTime();
        LockSupport.unpark(parks);
        while (parkNanos == 0) {
            Threads.sleepMillis(1);
        }
        add("vpark", "park", released - since, parkNanos);
        since = Threads.awaitWaiting(parks);
        releasedAgain = true;
        released = System.nanoTime();
        LockSupport.unpark(parks);
        parks.join();
        add("vpark", "park", released - since, parkAgainNanos);
        report.put("waits", waits);
    }

    private void add(String thread, String kind, long leastNanos, long waitNanos) {
        waits.add(new Json()
                .put("thread", thread)
                .put("kind", kind)
                .put("least_ns", leastNanos)
                .put("wait_ns", waitNanos));
    }

    private static void await(Path folder, String said, String file) {
        System.out.println(said);
        System.out.flush();
        while (!Files.exists(folder.resolve(file))) {
            Threads.sleepMillis(5);
        }
    }

    private void lock() {
        long asked = System.nanoTime();
        lock.lock(); // WAIT
        lockNanos = System.nanoTime() - asked;
        lock.unlock();
    }

    private void park() {
        long asked = System.nanoTime();
        while (!released) {
            LockSupport.park(this); // WAIT
        }
        long again = System.nanoTime();
        parkNanos = again - asked;
        while (!releasedAgain) {
            LockSupport.park(this); // WAIT
        }
        parkAgainNanos = System.nanoTime() - again;
    }
}
