package tyrion.sampling;

import tyrion.support.Json;

/**
 * Thread "waiter" waits until it is notified; who notifies it keeps the monitor for some time. The
 * last line on stdout is one JSON object: {@code waited_ns} until it was notified, {@code kept_ns}
 * from then until the monitor was free.
 *
 * <p>Usage: {@code java tyrion.sampling.Notified [WAITMILLIS [KEEPMILLIS]]}, defaults 1000 and 2000.
 */
public final class Notified {
    private Notified() {}

    public static void main(String[] args) throws InterruptedException {
        int waitMillis = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        int keepMillis = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
        Waiter waiter = new Waiter();
        waiter.start();
        long began = waiter.awaitBegin();
        Thread.sleep(waitMillis);
        long notified;
        long kept;
        synchronized (waiter.monitor) {
            notified = System.nanoTime();
            waiter.isNotified = true;
            waiter.monitor.notify();
            Thread.sleep(keepMillis);
            kept = System.nanoTime();
        }
        waiter.join();
        System.out.println(new Json()
                .put("waited_ns", notified - began)
                .put("kept_ns", kept - notified));
    }

    /** Who is notified. */
    private static final class Waiter extends Thread {
        private final Object monitor = new Object();
        private boolean isWaiting;
        private boolean isNotified;

        Waiter() {
            super("waiter");
        }

        @Override
        public void run() {
            try {
                synchronized (monitor) {
                    isWaiting = true;
                    monitor.notifyAll();
                    while (!isNotified) {
                        monitor.wait();
                    }
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** When it had begun to wait. */
        long awaitBegin() throws InterruptedException {
            synchronized (monitor) {
                while (!isWaiting) {
                    monitor.wait();
                }
                return System.nanoTime();
            }
        }
    }
}
