package check;

import tyrion.api.Tyrion;

/** Waits for a lock while its group is open. */
public final class Main {
    public static void main(String[] args) throws InterruptedException {
        Object lock = new Object();
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                pause();
            }
        });
        holder.start();
        Thread.sleep(100);
        try (Tyrion.Group group = Tyrion.group("from maven")) {
            synchronized (lock) {
                System.out.println("waited");
            }
        }
        holder.join();
    }

    private static void pause() {
        try {
            Thread.sleep(500);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
