package tyrion.subjects;

import java.io.File;
import java.util.concurrent.CountDownLatch;

/**
 * {@code Abandoned LIBRARY}: a thread takes a monitor by the JNI, with {@link #enter} of a library,
 * and ends without giving it back. The thread "waiter" waits for it, for ever. Meanwhile threads
 * come and go, whose memory is where the ended one's was. Prints "waits" once it does, and ends
 * when there is the file of {@code -Dtruth.go}.
 */
public final class Abandoned {
    private static final Object LOCK = new Object();

    private Abandoned() {}

    private static native void enter(Object lock);

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Leaves the monitor, and has a thread wait for it. */
    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        CountDownLatch ended = new CountDownLatch(1);
        Thread waiter =
                new Thread(
                        () -> {
                            awaitQuietly(ended);
                            synchronized (LOCK) {
                                System.out.println("got it");
                            }
                        },
                        "waiter");
        waiter.setDaemon(true);
        // First: a thread that has the memory of the ended one is taken for the owner.
        waiter.start();
        Thread owner = new Thread(() -> enter(LOCK), "ended");
        owner.start();
        owner.join();
        ended.countDown();
        while (waiter.getState() != Thread.State.BLOCKED) {
            Thread.yield();
        }
        System.out.println("waits");
        while (!new File(System.getProperty("truth.go")).exists()) {
            Thread other = new Thread(() -> {});
            other.start();
            other.join();
            Thread.sleep(1);
        }
        System.out.println("still waits: " + (waiter.getState() == Thread.State.BLOCKED));
    }
}
