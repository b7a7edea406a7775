package tyrion.support;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;

/**
 * What the JVM itself counts. Establishes a second opinion, independent of any profiler: how often
 * threads blocked on monitors, and how much CPU the process took.
 */
public final class Jvm {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private Jvm() {}

    /**
     * How often the current thread has blocked on a monitor so far. HotSpot counts where it posts
     * the contended-enter event: a monitor won while spinning is not counted.
     */
    public static long blockedCount() {
        return blockedCount(Thread.currentThread());
    }

    /**
     * How often a live thread has blocked on a monitor so far. -1 for a virtual thread: the JVM
     * does not count theirs.
     */
    public static long blockedCount(Thread thread) {
        ThreadInfo info = THREADS.getThreadInfo(thread.getId());
        return info == null ? -1 : info.getBlockedCount();
    }

    /** How often the current thread has parked, or waited in {@code Object.wait}, so far. */
    public static long waitedCount() {
        return THREADS.getThreadInfo(Thread.currentThread().getId()).getWaitedCount();
    }

    /**
     * Ids of the threads that are deadlocked on monitors or owned locks, or null if there are none.
     */
    public static long[] deadlockedThreads() {
        return THREADS.findDeadlockedThreads();
    }

    /** CPU time of the whole process so far, of all its threads, user and system. */
    public static long processCpuNanos() {
        return SYSTEM.getProcessCpuTime();
    }
}
