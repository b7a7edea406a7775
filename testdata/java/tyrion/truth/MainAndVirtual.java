package tyrion.truth;

import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code main-and-virtual N}: the main thread takes N locks that have a hash, and later a virtual
 * thread takes them, too.
 */
final class MainAndVirtual implements Scenario {
    private static final class Shared {}

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        VirtualThreads.require();
        Shared[] locks = new Shared[arguments.number(0, 20)];
        for (int i = 0; i < locks.length; i++) {
            locks[i] = new Shared();
            System.identityHashCode(locks[i]);
        }
        take(locks);
        Thread other = VirtualThreads.numbered("virtual-").newThread(() -> take(locks));
        other.start();
        other.join();
        report.put("class", MainAndVirtual.class.getName()).put("locks", locks.length);
    }

    private static void take(Shared[] locks) {
        for (int times = 0; times < 3; times++) {
            for (Shared lock : locks) {
                synchronized (lock) {
                    Older.onSpinWait();
                }
            }
        }
    }
}
