package tyrion.junit;

import java.util.HashSet;
import java.util.Set;
import tyrion.api.Tyrion;

/**
 * A test and the threads that it starts, and those that these start: all are in a group of the
 * test's name. They are found by what threads inherit.
 */
final class Family implements AutoCloseable {
    private static final InheritableThreadLocal<Family> CURRENT = new InheritableThreadLocal<>();

    private static boolean isFollowed;

    private final String name;
    private final Set<Tyrion.Group> groups = new HashSet<>();
    private boolean isOver;

    private Family(String name) {
        this.name = name;
    }

    /** The current thread's test begins. */
    static Family begin(String name) {
        synchronized (Family.class) {
            if (!isFollowed) {
                follow0();
                isFollowed = true;
            }
        }
        Family family = new Family(name);
        CURRENT.set(family);
        family.join();
        return family;
    }

    /** Those that still run are nobody's from now on. */
    @Override
    public synchronized void close() {
        CURRENT.remove();
        isOver = true;
        for (Tyrion.Group group : groups) {
            group.close();
        }
        groups.clear();
    }

    private synchronized void join() {
        if (!isOver) {
            groups.add(Tyrion.group(name));
        }
    }

    /** The agent has each thread call it that starts; it takes itself. */
    private static int started(Class<?> self) {
        Family family = CURRENT.get();
        if (family != null) {
            family.join();
        }
        return 0;
    }

    // What the agent has, see agent/src/agent/junit.rs.

    /** Has each thread that starts call {@link #started}. */
    private static native void follow0();

    /**
     * Has the log tell anew what is taken within what.
     *
     * @return when that is, in ns of Unix time as the log has it
     */
    static native long mark0();
}
