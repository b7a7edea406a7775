package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What the probes of trace mode call. The agent defines this class beside Object, before any probe
 * is inserted; tests/setup/probe-class.sh rebuilds its bytes, which the agent carries.
 *
 * <p>The usual path of an acquisition is Java and stays here, so that the JVM compiles it into the
 * program: find the thread's block, tell whether the lock is held already, count, look whether this
 * thread is known to use this lock. Everything else is native. All state is native memory, laid out
 * as agent/src/trace/memory.rs says; only its own thread writes a block.
 *
 * <p>Nothing here may lock, allocate on the usual path, load a class or throw.
 */
public final class TyrionTrace {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long TID = fieldOffset(Thread.class, "tid");

    /** Blocks by thread: pairs of thread id and block. */
    private static final long THREADS = address(0);
    private static final int THREADS_MASK = 0x3ffff;
    /** In how many more of their slots a thread may stand. */
    private static final int THREADS_REACH = 8;
    /** Addresses of tables with four times as many slots each as the one before; 0 for none. */
    private static final long LONGER_THREADS = THREADS + ((THREADS_MASK + 1) << 4);
    /** Whether there is no room for more: an int, and behind it bits of those who need not ask. */
    private static final long THREADS_FULL = LONGER_THREADS + 24;
    private static final long THREADS_REFUSED = THREADS_FULL + 8;
    private static final int REFUSED_MASK = 0xfffff;
    /** Instances: words of (hash, owner), and behind them sets of threads. */
    private static final long INSTANCES = address(1);
    private static final long INSTANCE_MASK = address(2);
    private static final int INSTANCE_REACH = 8;
    private static final long SETS = INSTANCES + ((INSTANCE_MASK + 1 + INSTANCE_REACH) << 3);
    /** Bits by hash: 0 where no instance stands in the table. */
    private static final long ENTERED = address(7);
    private static final int ENTERED_MASK = 0x1fffff;
    /** Who waits for locks with a hash in a bucket, and who released them last: 1024 of them. */
    private static final long BUCKETS = address(3);
    private static final int BUCKETS_MASK = 1023;
    private static final int BUCKET_SHIFT = 10;
    /** How many threads wait for any. */
    private static final long WAITING = BUCKETS + ((BUCKETS_MASK + 1L) << BUCKET_SHIFT);
    /** What a tick is in ns, times 2 to the 32nd. */
    private static final long TICK = address(6);
    /** Whether instances are told apart. */
    private static final boolean IDENTITY = address(4) != 0;
    /** What may change while threads run. First, whether each measured hold becomes a record. */
    private static final long EVERY_EVENT = address(5);
    /** Ticks by chance: of measured holds, about one in four has the probes behind it timed. */
    private static final long TIMED_CHANCE = EVERY_EVENT + 8;
    /** At most one acquisition in so many has its stack taken. */
    private static final int STACK_EVERY = 4096;
    /** A cell's first holds, whose stacks are taken, and those that are measured in any case. */
    private static final int FIRST_HOLDS = 2;
    private static final int FIRST_MEASURED = 10240;
    /** By place: bits of what is looked at no more. */
    private static final long CLOSED_PLACES = address(10);
    private static final int CLOSED_PLACES_MASK = 0xffff;
    /** New instances are told apart no more. */
    private static final int NO_INSTANCES = 1;
    /** By place: its number, and the only instance that was taken there, or that it was several. */
    private static final long PLACE_INSTANCES = address(17);
    private static final int PLACE_INSTANCES_MASK = 0x3ffff;
    private static final long SEVERAL_INSTANCES = 0xffffffffL;
    /** Counted in bursts, with or without a burst now. */
    private static final int IN_BURSTS = 4;
    /** What is entered now is not counted. */
    private static final int NO_ENTRIES = 8;
    /** Nothing that was counted is left now. */
    private static final int NO_EXITS = 16;
    /** What is known of bursts; 0 where all is counted. First, the number of the latest one. */
    private static final long BURSTS = address(14);
    private static final boolean ADAPTIVE = BURSTS != 0;
    /** What is not counted in cells: for each thread, by the low bits of its id, a count by place. */
    private static final long OUTSIDE = address(15);
    private static final long OUTSIDE_MASK = address(16);
    private static final int OUTSIDE_SHIFT = 19;
    /** Pairs of places: what is held since the first one is taken again at the second one. */
    private static final long AGAIN_AT = BURSTS + 64;
    private static final int AGAIN_AT_MASK = 4095;
    private static final int AGAIN_AT_REACH = 8;
    /** Permits that are acquired here are given back by others: they are no holds. */
    private static final int NO_HOLDS = 2;
    /** So many permits, and none given back: others do that. */
    private static final int PERMITS_LIMIT = 64;
    /** Whether blocks tell when they want their monitor. */
    private static final boolean PRECISE = address(11) != 0;
    /** What an acquisition must have taken to be a wait, in ns. */
    private static final long DELAY = address(12);
    /** What probes took that were timed, by what they do: for each how many, and ns. */
    private static final long TIMED_TAKING = address(13);
    private static final long TIMED_LEAVING = TIMED_TAKING + 16;
    /** What takes longer has called the agent, which counts that itself, or was preempted; in ns. */
    private static final long TIMED_LIMIT = 2000;
    /** The cell for what the log has no room for; not to be remembered. */
    private static final long NOWHERE = address(9);

    /** How the JVM keeps a locked object's hash; found out by {@link #explore}. */
    private static final int HASH_SHIFT = exploreShift();
    private static final int LAYOUT = explore();
    /** Where a monitor says how often more than once it is held; 0 unknown. */
    private static final long RECURSIONS = LAYOUT == 0 ? 0 : exploreRecursions();
    /** Where a monitor says by whom it is held, 0 by nobody; 0 unknown. */
    private static final long OWNED_BY = LAYOUT == 0 || !PRECISE ? 0 : exploreOwner();
    /** The JVM finds a native method at its first call: not when a hold is being measured. */
    private static final long LINKED = ticks();
    /** In the object's first word, even while it is locked. */
    private static final int IN_MARK = 1;
    /** Where the first word points to while the object is locked: the owner's stack. */
    private static final int DISPLACED = 2;
    /** The JVM must be asked. */
    private static final int ELSEWHERE = 0;

    /** The owner of an instance that several threads take, and how many of them are told apart. */
    private static final int SHARED = -1;
    private static final int SHARERS = 448;
    // What is known of an instance.
    private static final int MINE = 0;
    private static final int OTHERS = 1;
    private static final int NOBODYS = 2;
    /** Others stand wherever it could. */
    private static final int CROWDED = 3;

    /** A permit of a semaphore. */
    private static final int SEMAPHORE = 5;
    private static final int LOCK_READ = 3;
    private static final int LOCK_WRITE = 4;
    /** Beside the kind: the lock was taken by a method that would not have waited for it. */
    private static final int ONLY_TRIED = 16;
    private static final int KIND = 15;
    /** The same beside a place, for nestings. */
    private static final int TRIED_AT = 1 << 31;

    private static final int HASH = 0x7fffffff;
    private static final long MIX = 0x9e3779b97f4a7c15L;

    // The block, see memory.rs.
    private static final long CELLS = 8;
    private static final long ME = 16;
    /**
     * How many monitors are held, above them how many locks, and on top how many of both are being
     * measured: one word, always whole.
     */
    private static final long HOLDS = 24;
    private static final long ONE_LOCK = 1L << 32;
    private static final long ONE_MEASURED = 1L << 48;
    /**
     * Beside these: the probe that comes next is timed. Where it is set, no quick path is taken, so
     * those need not look for it.
     */
    private static final long TIMED = 1L << 62;
    private static final long PLACE = 32;
    private static final long RANDOM = 40;
    private static final long SAMPLES = 48;
    private static final long OWNER = 56;
    private static final long RING = 64;
    private static final long ASKED = 72;
    private static final long QUIET = 36;
    private static final long BURST = 104;
    private static final long HELD = 128;
    private static final int HELD_LIMIT = 32;
    private static final long HELD_LOCKS = HELD + 64 * HELD_LIMIT;
    private static final int LOCKS_LIMIT = 16;
    /** By place and class: the cell, and the instance and the nesting that were met last. */
    private static final long RECENT = HELD_LOCKS + 64 * LOCKS_LIMIT;
    private static final long RECENT_MASK = 0;
    private static final long RECENT_LOCK = 16;
    private static final long RECENT_NESTING = 24;
    /** Where the thread's notes are, which virtual threads share. */
    private static final long NOTES = 80;

    // The notes: what is known already. Words of their own, so that threads may share them.
    /** Nestings. */
    private static final long PAIRS = 0;
    private static final int PAIRS_MASK = 511;
    /** Pairs of places of which the agent notes no more nestings. */
    private static final long TOLD = PAIRS + 8 * (PAIRS_MASK + 1);
    private static final int TOLD_MASK = 2047;
    /** Hashes of instances that the thread is known to take: ints. */
    private static final long KNOWN = TOLD + 8 * (TOLD_MASK + 1);
    private static final int KNOWN_MASK = 1023;

    // An entry of what is held: 64 bytes.
    private static final long KEY = 0;
    private static final long CELL = 8;
    private static final long START = 16;
    private static final long TIMES = 24;
    private static final long STACK = 32;
    /** One of the cell's first: {@link #UNTIMED}, or more where the probes behind may be timed. */
    private static final long FIRST = 36;
    private static final int UNTIMED = 1;
    private static final int TIMEABLE = 2;
    private static final long PLACE_TAKEN = 44;
    /** The key of what is neither a hold nor anything that somebody waits for. */
    private static final long NOTHING = -1024;

    // A bucket of hashes, 1024 bytes.
    private static final long WAITERS = 0;
    private static final long WAITED = 4;
    private static final long DUE = 8;
    /** How many releases were noted, how many of them kept, and from when on the next one is. */
    private static final long NOTED = 16;
    private static final long KEPT = 24;
    private static final long KEEP_FROM = 32;
    private static final long KEPT_SHIFT = 40;
    private static final long KEPT_EVERY_NS = 12553;
    /** The latest ones that were noted, and kept: when, by whom, and where. */
    private static final long RELEASES = 48;
    private static final long KEPT_RELEASES = 432;
    private static final int RELEASES_MASK = 15;
    private static final long RELEASE_SIZE = 24;
    private static final long RELEASED_BY = 8;
    private static final long RELEASED_AT = 16;
    private static final int SEVERAL = -1;

    // A cell, see tyrion-wire.
    private static final long CELL_PLACE = 4;
    /** A byte, and above it in the same int: one hold in how many is measured, plus 1. */
    private static final long CLOSED = 12;
    private static final int MEASURED_SHIFT = 8;
    private static final long ACQUISITIONS = 16;
    private static final long NEXT = 24;
    /** NEXT without its sign, which says that every hold is measured. */
    private static final long NEXT_STACK = 0x7fffffffffffffffL;
    private static final long REENTRANT = 32;
    private static final long FAILED = 40;
    private static final long FIRST_COUNT = 48;
    private static final long SAMPLED = 64;
    /** Behind each of these numbers stands the sum, in ns. */
    private static final long SUM = 8;
    private static final long LONGEST = 80;
    private static final long UNIDENTIFIED = 88;
    private static final long HISTOGRAM = 96;

    /** With compact headers the class shares a word with the hash, and fields begin earlier. */
    private static final int CLASS_SHIFT =
            fieldOffset(Integer.class, "value") < 12 ? 10 : 0;

    /** Where a ring of events is full: 255 of 32 bytes, behind one with the place of the next. */
    private static final long RING_LIMIT = 32 * 255;

    /** Whether anything is recorded. */
    static boolean on;
    /** Where an object's class stands in it; not final, so that C2 takes it for any offset. */
    private static long classOffset = CLASS_SHIFT == 0 ? 8 : 4;

    private TyrionTrace() {}

    /** Where a field is in an object. JDK 8, on which this runs as well, has no shorter way. */
    private static long fieldOffset(Class<?> type, String field) {
        try {
            return U.objectFieldOffset(type.getDeclaredField(field));
        } catch (NoSuchFieldException none) {
            throw new NoSuchFieldError(field);
        }
    }

    // ---- monitors

    /** In front of monitorenter: an object that has a hash needs none while it is locked. */
    public static void before(Object lock, int place) {
        if (!on || lock == null || ADAPTIVE && !isOpen(place, NO_ENTRIES)) {
            return;
        }
        long mark = U.getLong(lock, 0L);
        if ((mark & 3) == 1
                && ((mark & 4) != 0 || (mark >>> HASH_SHIFT & HASH) == 0)
                // Where each object is a new one, the agent has lost interest.
                && isOpen(place, NO_INSTANCES)) {
            System.identityHashCode(lock);
        }
    }

    /** In front of monitorenter, where it matters when the monitor was wanted. */
    public static void asking(Object lock, int place) {
        long block;
        if (on && lock != null && (block = block()) != 0) {
            if (LAYOUT == DISPLACED && IDENTITY) {
                before(lock, place);
            }
            U.putLong(block + ASKED, isOthers(lock) ? System.nanoTime() : 0);
        }
    }

    /**
     * Whether another thread has a monitor. What cannot be told counts as no: a thread that is not
     * run for some time between two probes has not waited for anything.
     */
    private static boolean isOthers(Object lock) {
        long mark = U.getLong(lock, 0L);
        // Biased or unlocked.
        if (LAYOUT == ELSEWHERE || (mark & 1) != 0) {
            return false;
        }
        // What was contended once stays inflated for some time. The JVM frees a monitor only when
        // each thread has come to a safepoint, and in compiled code none is between the looks.
        if ((mark & 3) == 2 && (OWNED_BY == 0 || U.getLong(mark - 2 + OWNED_BY) == 0)) {
            return false;
        }
        return !Thread.holdsLock(lock);
    }

    /** The monitor was entered. */
    public static void entered(Object lock, int place) {
        if (!on) {
            return;
        }
        if (ADAPTIVE && !isOpen(place, NO_ENTRIES)) {
            countOutside(place);
            return;
        }
        long block = block();
        if (block == 0) {
            return;
        }
        long held = U.getLong(block + HOLDS);
        U.putLong(block + HOLDS, held + 1);
        try {
            if (PRECISE && U.getLong(block + ASKED) != 0) {
                got(block, lock, place);
            }
            if (held != 0 || !isEnteredAgain(block, lock, place)) {
                enter(block, held, lock, place);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            // Not the program's business. The exit will be told, and must find something; there is
            // as much stack here as where HOLDS was stored, and no more.
            held = U.getLong(block + HOLDS) - 1;
            if ((held & 0xffffffffL) < HELD_LIMIT) {
                long entry = block + HELD + ((held & 0xffffffffL) << 6);
                U.putLong(entry + KEY, NOTHING);
                U.putInt(entry + PLACE_TAKEN, place);
            }
        }
    }

    /**
     * Counts where nothing has to be looked up: no lock was held, and what was entered is what this
     * thread has entered last here. Only this is compiled into each place: with all of
     * {@link #enter} in it C2 had methods so large that a database which the agent was attached
     * to ran at a tenth of its speed for half a minute.
     */
    @ForceInline
    private static boolean isEnteredAgain(long block, Object lock, int place) {
        long key = quickKey(lock);
        long cell = key == 0 ? 0 : cellAgain(block, key, lock, place, 0);
        if (cell == 0) {
            return false;
        }
        U.putLong(block + HELD + KEY, key);
        U.putLong(block + HELD + CELL, cell);
        U.putInt(block + HELD + PLACE_TAKEN, place);
        return true;
    }

    /** What {@link #key} finds where that is simple, else 0. */
    @ForceInline
    private static long quickKey(Object lock) {
        long header = U.getLong(lock, 0L);
        if (LAYOUT == ELSEWHERE || (header & 3) != 0 || header == 0) {
            return 0;
        }
        if (LAYOUT == DISPLACED) {
            if (!IDENTITY) {
                return header;
            }
            header = U.getLong(header);
            if ((header & 7) != 1) {
                return 0;
            }
        }
        return header >>> HASH_SHIFT & HASH;
    }

    /**
     * Counts an acquisition in the cell of the one that was met last here, where it is of the same
     * instance and is not to be measured; the cell, or 0.
     */
    @ForceInline
    private static long cellAgain(long block, long hash, Object lock, int place, int kind) {
        long recent = recent(block, lock, place);
        if (IDENTITY && U.getLong(recent + RECENT_LOCK) != hash
                || U.getLong(recent) != cellKey(typeOf(lock), place, kind)) {
            return 0;
        }
        long cell = U.getLong(recent + 8);
        long nth = U.getLong(cell + ACQUISITIONS) + 1;
        // Also where every hold is measured: that is less than 0 then.
        if (nth >= U.getLong(cell + NEXT)) {
            return 0;
        }
        U.putLong(cell + ACQUISITIONS, nth);
        return cell;
    }

    @DontInline
    private static void enter(long block, long held, Object lock, int place) {
        if ((held & TIMED) != 0) {
            enterTimed(block, held ^ TIMED, lock, place);
            return;
        }
        if (ADAPTIVE && (int) held != 0 && U.getLong(block + BURST) != U.getLong(BURSTS)) {
            // What an earlier burst has left: a thread that began to enter in it and was not run
            // for some time may have found no probe when it left.
            U.putLong(block + BURST, U.getLong(BURSTS));
            held = stillHeld(block, place) - 1;
            if ((int) held < 0) {
                return;
            }
        }
        long key = key(lock);
        long recent = recent(block, lock, place);
        if (held != 0 && !isUsual(block, held, recent, key, lock, place)) {
            if (nested(block, held, recent, key, lock, place)) {
                return;
            }
            held = U.getLong(block + HOLDS) - 1;
            if ((int) held < 0) {
                // Recording was stopped and begun again meanwhile.
                return;
            }
        }
        long cell = cell(block, recent, lock, place, 0);
        long entry = block + HELD + ((held & 0xffffffffL) << 6);
        U.putLong(entry + KEY, key);
        U.putLong(entry + CELL, cell);
        U.putInt(entry + PLACE_TAKEN, place);
        try {
            count(block, entry, recent, cell, key, lock, place);
        } catch (StackOverflowError | OutOfMemoryError error) {
            // Perhaps not counted, but entered.
        }
    }

    /** What {@link #entered} does without TIMED, which is there again for the next probe. */
    @DontInline
    private static void enterTimed(long block, long held, Object lock, int place) {
        U.putLong(block + HOLDS, held + 1);
        long before = System.nanoTime();
        long begun = System.nanoTime();
        if (held != 0 || !isEnteredAgain(block, lock, place)) {
            enter(block, held, lock, place);
        }
        timed(TIMED_TAKING, before, begun);
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) | TIMED);
    }

    /**
     * Adds up what a probe took, without what the clock takes, which is what it took just before. This
     * tells what probes take in this program, where they wait for memory that others have changed;
     * in a loop of nothing else they take a tenth of it.
     */
    private static void timed(long sums, long before, long begun) {
        long took = System.nanoTime() - begun;
        long clock = begun - before;
        if (took < TIMED_LIMIT && clock < TIMED_LIMIT) {
            U.getAndAddLong(null, sums, 1);
            U.getAndAddLong(null, sums + 8, took - clock);
        }
    }

    /** After a measured hold: by chance, the probes that come next are timed, up to a release. */
    private static void timeNext(long block, long now) {
        if ((now & U.getLong(TIMED_CHANCE)) == 0) {
            U.putLong(block + HOLDS, U.getLong(block + HOLDS) | TIMED);
        }
    }

    /** Nobody was seen to wait; but if it took long, the JVM has spun. */
    @DontInline
    private static void got(long block, Object lock, int place) {
        long asked = U.getLong(block + ASKED);
        long now = System.nanoTime();
        U.putLong(block + ASKED, 0);
        if (now - asked >= U.getLong(DELAY)) {
            delayed(Thread.currentThread(), lock, place, asked, now);
        }
    }

    /** The monitor is about to be left. */
    public static void exiting(Object lock, int place) {
        if (!on) {
            return;
        }
        if (ADAPTIVE && !isOpen(place, NO_EXITS)) {
            // What somebody waits for is inflated.
            if (U.getLong(WAITING) != 0 && lock != null && (U.getLong(lock, 0L) & 3) == 2) {
                leavingUncounted(lock, place);
            }
            return;
        }
        long block = block();
        if (block == 0) {
            return;
        }
        long held = U.getLong(block + HOLDS);
        if ((int) held == 0) {
            // Entered before recording began, or not counted.
            if (ADAPTIVE) {
                leavingUncounted(lock, place);
            }
            return;
        }
        if (ADAPTIVE && (held = upTo(block, held, place)) == 0) {
            leavingUncounted(lock, place);
            return;
        }
        U.putLong(block + HOLDS, --held);
        if (held >>> 48 != 0 || U.getLong(WAITING) != 0) {
            try {
                releasing(block, held, lock, place);
            } catch (StackOverflowError | OutOfMemoryError error) {
                // What has been told must not be told again.
            }
        }
    }

    // ---- places that are counted in bursts

    /** Counts what is taken outside of bursts: how often, and nothing else. */
    @ForceInline
    private static void countOutside(int place) {
        long thread = U.getLong(Thread.currentThread(), TID) & OUTSIDE_MASK;
        long at = OUTSIDE + (thread << OUTSIDE_SHIFT) + ((long) (place & CLOSED_PLACES_MASK) << 3);
        U.putLong(at, U.getLong(at) + 1);
    }

    /**
     * The word that counts what is held, up to the monitor that was entered last at this place, which
     * is about to be left; 0 where it was not counted.
     */
    @ForceInline
    private static long upTo(long block, long held, int place) {
        int depth = (int) held;
        return depth > HELD_LIMIT || placeOf(block + HELD - 64 + ((long) depth << 6)) == place
                ? held
                : upToElsewhere(block, held, place);
    }

    /** Monitors are left in the order of their entries: what seems to be held above it is not. */
    @DontInline
    private static long upToElsewhere(long block, long held, int place) {
        int depth = (int) held;
        int found = depth - 2;
        while (found >= 0 && placeOf(block + HELD + ((long) found << 6)) != place) {
            found--;
        }
        if (found < 0) {
            return isOpen(place, IN_BURSTS) ? held : 0;
        }
        for (int i = depth - 1; i > found; i--) {
            long entry = block + HELD + ((long) i << 6);
            if (U.getLong(entry + START) != 0) {
                U.putLong(entry + START, 0);
                held -= held << 2 >>> 50 != 0 ? ONE_MEASURED : 0;
            }
            held--;
        }
        U.putLong(block + HOLDS, held);
        return held;
    }

    /** A monitor is about to be left that was not counted; somebody may wait for it. */
    @DontInline
    private static void leavingUncounted(Object lock, int place) {
        if (U.getLong(WAITING) == 0 || lock == null) {
            return;
        }
        long mark = U.getLong(lock, 0L);
        if ((mark & 3) != 2
                || RECURSIONS != 0 && U.getLong(mark - 2 + RECURSIONS) > 0) {
            return;
        }
        try {
            long hash = key(lock);
            long bucket = BUCKETS + ((hash & BUCKETS_MASK) << BUCKET_SHIFT);
            long block;
            if (hash >>> 31 == 0 && U.getInt(bucket + WAITERS) != 0 && (block = block()) != 0) {
                leaving(block, 0, hash, lock, place);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            // What has been told must not be told again.
        }
    }

    /**
     * What is taken again within another place shall not be counted where that one is not: it would
     * seem to be taken for the first time.
     */
    private static void noteAgain(long block, long all, long key, int place) {
        for (int i = Math.min((int) all, HELD_LIMIT) - 1; i >= 0; i--) {
            long entry = block + HELD + ((long) i << 6);
            if (U.getLong(entry + KEY) == key) {
                noteAgainAt(placeOf(entry), place);
                return;
            }
        }
    }

    private static void noteAgainAt(int outer, int place) {
        if (outer == place) {
            return;
        }
        long pair = (long) outer << 32 | place;
        long nth = pair * MIX >>> 40;
        for (int i = 0; i < AGAIN_AT_REACH; i++, nth++) {
            long at = AGAIN_AT + ((nth & AGAIN_AT_MASK) << 3);
            long there = U.getLong(at);
            if (there == pair) {
                return;
            }
            if (there == 0) {
                U.putLong(at, pair);
                return;
            }
        }
    }

    // ---- more of monitors

    /** An object is about to be notified, or null, at which that fails. */
    public static void notifies(Object object, boolean all) {
        // What somebody waits on is inflated; most of what is notified is not.
        if (on && object != null && (U.getLong(object, 0L) & 3) == 2) {
            notifying(object, all, Thread.currentThread());
        }
    }

    /** An exception leaves a synchronized method; exiting has been called. */
    public static void threw(Throwable exception) {
        long block;
        if (on && exception instanceof StackOverflowError && (block = block()) != 0) {
            U.putLong(block + HOLDS, U.getLong(block + HOLDS) | Long.MIN_VALUE);
        }
    }

    /** A hold may be measured, or somebody may wait. */
    @DontInline
    private static void releasing(long block, long held, Object lock, int place) {
        if ((held & TIMED) != 0) {
            releasingTimed(block, held ^ TIMED, lock, place);
            return;
        }
        int depth = (int) held;
        if (depth >= HELD_LIMIT) {
            return;
        }
        long entry = block + HELD + ((long) depth << 6);
        // Of this lock, not of one that is held around it. Before all else: few holds are measured,
        // so the JVM may interpret this for long.
        long now = held >>> 48 != 0 && U.getLong(entry + START) != 0 ? ticks() : 0;
        long key = U.getLong(entry + KEY);
        boolean isTimeable = U.getInt(entry + FIRST) != UNTIMED;
        // Else it was held already, and still is.
        if (key >= 0) {
            if (now != 0) {
                ended(block, entry, now);
            }
            long hash = key >>> 31 == 0 ? key : key(lock);
            // What somebody waits for has a hash by now.
            if (hash >>> 31 == 0) {
                leaving(block, entry, hash, lock, place);
            }
        }
        if (held << 16 == 0 && U.getLong(block + HOLDS) != 0) {
            nothingHeld(block);
        }
        if (now != 0 && isTimeable) {
            timeNext(block, now);
        }
    }

    /** What {@link #exiting} does, without TIMED. */
    @DontInline
    private static void releasingTimed(long block, long held, Object lock, int place) {
        U.putLong(block + HOLDS, held);
        long before = System.nanoTime();
        long begun = System.nanoTime();
        if (held >>> 48 != 0 || U.getLong(WAITING) != 0) {
            releasing(block, held, lock, place);
        }
        timed(TIMED_LEAVING, before, begun);
    }

    /** So nothing is being measured either, whatever an overflow has left. */
    private static void nothingHeld(long block) {
        for (int i = 0; i < HELD_LIMIT + LOCKS_LIMIT; i++) {
            U.putLong(block + HELD + ((long) i << 6) + START, 0);
        }
        U.putLong(block + HOLDS, 0);
    }

    /**
     * A lock is about to be released, for which somebody may wait. The agent is called when it is
     * due, at moments that it chooses by chance, some 50 or 200 us apart. Each release is noted, so
     * that it knows then, or when a wait ends, who held the lock meanwhile.
     */
    private static void leaving(long block, long entry, long hash, Object lock, int place) {
        long bucket = BUCKETS + ((hash & BUCKETS_MASK) << BUCKET_SHIFT);
        if (U.getInt(bucket + WAITERS) == 0) {
            return;
        }
        int waited = U.getInt(bucket + WAITED);
        if (waited != (int) hash && waited != SEVERAL) {
            // Another lock of the bucket.
            return;
        }
        long now = System.nanoTime();
        noteRelease(bucket, hash << 32 | place, U.getLong(block + OWNER), now);
        if (now - U.getLong(bucket + DUE) >= 0) {
            left(block, entry, lock, place);
        }
    }

    /** Notes this release as the latest one, and keeps it if it is of a hold at a certain moment. */
    private static void noteRelease(long bucket, long at, long owner, long now) {
        putRelease(bucket + RELEASES, bucket + NOTED, at, owner, now);
        if (now - U.getLong(bucket + KEEP_FROM) >= 0) {
            long every = KEPT_EVERY_NS << U.getLong(bucket + KEPT_SHIFT);
            U.putLong(bucket + KEEP_FROM, now - now % every + every);
            putRelease(bucket + KEPT_RELEASES, bucket + KEPT, at, owner, now);
        }
    }

    private static void putRelease(long releases, long counted, long at, long owner, long now) {
        long nth = U.getLong(counted);
        U.putLong(counted, nth + 1);
        long release = releases + (nth & RELEASES_MASK) * RELEASE_SIZE;
        U.putLong(release, now);
        U.putLong(release + RELEASED_BY, owner);
        U.putLong(release + RELEASED_AT, at);
    }

    /**
     * Another lock is held already. Whether this is the same one, or one that there is no room to
     * remember: then nothing is left to do.
     */
    @DontInline
    private static boolean nested(
            long block, long all, long recent, long key, Object lock, int place) {
        if (all >>> 48 != 0) {
            all = unmeasured(block, all);
        }
        boolean wasAsked = all < 0;
        if (wasAsked) {
            // After a full stack: some exits may have failed.
            all = stillHeld(block, place) - 1;
        }
        long keys = lookFor(block, all, key);
        if (keys < 0 && !wasAsked && isDoubtful(cell(block, recent, lock, place, 0))) {
            all = stillHeld(block, place) - 1;
            keys = lookFor(block, all, key);
        }
        // Without a hash when it was entered first, it may have been inflated since.
        if (keys < 0 || keys >>> 32 != 0 && isRecursive(block, all, lock)) {
            if (ADAPTIVE) {
                noteAgain(block, all, key, place);
            }
            long cell = cell(block, recent, lock, place, 0);
            again(block, all, cell, place);
            takenElsewhere(block, recent, key, cell, lock, place);
            return true;
        }
        nesting(block, all, recent, key, lock, place);
        if ((int) all < HELD_LIMIT) {
            return false;
        }
        long cell = cell(block, recent, lock, place, 0);
        U.putLong(cell + ACQUISITIONS, U.getLong(cell + ACQUISITIONS) + 1);
        takenElsewhere(block, recent, key, cell, lock, place);
        return true;
    }

    /**
     * Whether a monitor that is entered while others are held is none of them, and its nesting is
     * known: as nearly always. What is not as usual in any way is left to {@link #nested}.
     */
    @ForceInline
    private static boolean isUsual(
            long block, long all, long recent, long key, Object lock, int place) {
        if (all >= HELD_LIMIT || all < 0) {
            // No monitors alone, or some are measured, or there is doubt.
            return false;
        }
        long entry = block + HELD - 64 + (all << 6);
        long held = U.getLong(entry + KEY);
        if (held <= 0 || U.getLong(recent + RECENT_NESTING) != nestingMark(entry, place)) {
            return false;
        }
        long keys = held;
        while (held != key) {
            if (entry == block + HELD) {
                // As in nested: one that had no hash may have been inflated since.
                return keys >>> 32 == 0 || LAYOUT != DISPLACED || (U.getLong(lock, 0L) & 3) != 2;
            }
            entry -= 64;
            held = U.getLong(entry + KEY);
            keys |= held;
        }
        return false;
    }

    /** Of the place, too: other places share what one of them met last. */
    @ForceInline
    private static long nestingMark(long inner, int place) {
        return U.getLong(inner + CELL) * MIX + place;
    }

    /**
     * Looks for a key among those of the monitors that are held: less than 0 where it is, else their
     * bits, of which the high ones are 0 when all are known by their hashes.
     */
    private static long lookFor(long block, long all, long key) {
        long keys = 0;
        for (int i = Math.min((int) all, HELD_LIMIT) - 1; i >= 0; i--) {
            long held = U.getLong(block + HELD + ((long) i << 6) + KEY);
            if (held == key) {
                return -1;
            }
            // Those less than 0 stand for nothing.
            keys |= held & ~(held >> 63);
        }
        return keys;
    }

    /**
     * Whether the stack is to be asked if a monitor is really held already, as its exit may have been
     * lost where nothing could say so. It is when the cell's count of reentrant acquisitions is 0, 1,
     * 3, 7 and so on, and then at each multiple of 65 536.
     */
    private static boolean isDoubtful(long cell) {
        long reentrant = U.getLong(cell + REENTRANT);
        return reentrant < 0xffff
                ? (reentrant & reentrant + 1) == 0
                : (reentrant & 0xffff) == 0;
    }

    /** Takes back what an exit that overflowed has left in the entry that comes next. */
    private static long unmeasured(long block, long all) {
        if ((int) all < HELD_LIMIT) {
            long entry = block + HELD + ((all & 0xffffffffL) << 6);
            if (U.getLong(entry + START) != 0) {
                U.putLong(entry + START, 0);
                if (all << 1 >>> 49 != 0) {
                    U.putLong(block + HOLDS, U.getLong(block + HOLDS) - ONE_MEASURED);
                    all -= ONE_MEASURED;
                }
            }
        }
        return all;
    }

    /** Whether the JVM says that the current thread, which holds a monitor, has it more than once. */
    private static boolean isRecursive(long block, long all, Object lock) {
        long mark = U.getLong(lock, 0L);
        if (RECURSIONS == 0 || (mark & 3) != 2) {
            return false;
        }
        long monitor = mark - 2;
        if (U.getLong(monitor + RECURSIONS) > 0) {
            return true;
        }
        // It may have been inflated after this entry: then the monitor says of its owner where on
        // the stack the object was locked, and that is what it is known by here.
        for (int i = Math.min((int) all, HELD_LIMIT) - 1; i >= 0; i--) {
            long held = U.getLong(block + HELD + ((long) i << 6) + KEY);
            if (held >>> 32 != 0 && held > 0) {
                for (long at = 8; at < RECURSIONS; at += 8) {
                    if (U.getLong(monitor + at) == held) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** A monitor that the thread holds already was entered once more. */
    private static void again(long block, long all, long cell, int place) {
        U.putLong(cell + REENTRANT, U.getLong(cell + REENTRANT) + 1);
        if ((int) all < HELD_LIMIT) {
            // Neither a hold nor anything that somebody waits for ends with it.
            long entry = block + HELD + ((all & 0xffffffffL) << 6);
            U.putLong(entry + KEY, NOTHING);
            U.putLong(entry + CELL, cell);
            U.putInt(entry + PLACE_TAKEN, place);
        }
    }

    /**
     * The first time that a thread takes a lock while it holds others, the agent notes them; and so
     * many times for a pair of places, whatever the instances. Then it is told.
     */
    private static void nesting(
            long block, long all, long recent, long key, Object lock, int place) {
        long inner = innermost(block, all);
        if (inner == 0) {
            return;
        }
        long mark = nestingMark(inner, place);
        if (U.getLong(recent + RECENT_NESTING) != mark) {
            nestingElsewhere(block, all, inner, mark, recent, key, lock, place);
        }
    }

    /** The places of a nesting are not those that were told last here. */
    @DontInline
    private static void nestingElsewhere(
            long block,
            long all,
            long inner,
            long mark,
            long recent,
            long key,
            Object lock,
            int place) {
        long pair = (allHeld(block, all) * MIX + key) * MIX + place;
        if (U.getLong(recent + RECENT_NESTING) == pair) {
            return;
        }
        // Before the looks: whoever clears what was seen clears this after it.
        U.putLong(recent + RECENT_NESTING, mark);
        // By the outer one's place: the cells of virtual threads differ.
        long places = (placeOf(inner) * MIX + place) * MIX;
        long notes = U.getLong(block + NOTES);
        // Two stand side by side, the later one in front.
        long told = notes + TOLD + ((places >>> 48 & TOLD_MASK - 1) << 3);
        if (U.getLong(told) == places || U.getLong(told + 8) == places) {
            return;
        }
        U.putLong(recent + RECENT_NESTING, pair);
        pair ^= pair >>> 29;
        long seen = notes + PAIRS + ((pair & PAIRS_MASK) << 3);
        if (U.getLong(seen) != pair) {
            U.putLong(seen, pair);
            if (noteNesting(block, key, place, lock)) {
                U.putLong(told + 8, U.getLong(told));
                U.putLong(told, places);
            } else if (U.getLong(block + HOLDS) < 0) {
                // Not all is really held that seems so: this was not noted.
                U.putLong(seen, 0);
                U.putLong(recent + RECENT_NESTING, 0);
            }
        }
    }

    /** What stands for all that is held. */
    private static long allHeld(long block, long all) {
        long outer = 0;
        for (int i = Math.min((int) all, HELD_LIMIT) - 1; i >= 0; i--) {
            outer = outer * MIX + U.getLong(block + HELD + ((long) i << 6) + KEY);
        }
        for (int i = locksOf(all) - 1; i >= 0; i--) {
            outer = outer * MIX + U.getLong(block + HELD_LOCKS + ((long) i << 6) + KEY);
        }
        return outer;
    }

    /** The entry of what the agent takes for the innermost lock that is held; 0 for none. */
    private static long innermost(long block, long all) {
        for (int i = locksOf(all) - 1; i >= 0; i--) {
            long entry = block + HELD_LOCKS + ((long) i << 6);
            // Others may give permits back.
            if (U.getLong(entry + KEY) >>> 32 != SEMAPHORE) {
                return entry;
            }
        }
        for (int i = Math.min((int) all, HELD_LIMIT) - 1; i >= 0; i--) {
            long entry = block + HELD + ((long) i << 6);
            if (U.getLong(entry + KEY) > 0) {
                return entry;
            }
        }
        return 0;
    }

    // ---- java.util.concurrent

    // An error in one of these, for lack of stack, would leave lock() with the lock, or unlock()
    // without having released it: none gets out. (Monitors are released whatever happens.) What
    // is compiled of their callers has them inside, so that there is no call that could overflow.

    /** The lock method that is called next is called at this place. */
    public static void at(int place) {
        if (!on) {
            return;
        }
        long block = block();
        if (block != 0) {
            // Less than 0: it is not counted now.
            boolean isCounted = !ADAPTIVE || isOpen(place, NO_ENTRIES);
            U.putInt(block + PLACE, isCounted ? place : -place);
        }
    }

    /** A method that takes a lock has returned; kinds are those of the log. */
    @ForceInline
    public static void acquired(Object lock, int kind) {
        if (on) {
            try {
                take(lock, kind);
            } catch (StackOverflowError | OutOfMemoryError error) {
                // Perhaps not counted.
            }
        }
    }

    @ForceInline
    private static void take(Object lock, int how) {
        long block = block();
        if (block == 0) {
            return;
        }
        int kind = how & KIND;
        if (ADAPTIVE && U.getInt(block + PLACE) < 0 && kind != SEMAPHORE) {
            takeUncounted(block, lock, kind);
        } else if (!isTakenAgain(block, lock, kind)) {
            taken(block, lock, how);
        }
    }

    /** That it is held is noted all the same: who made others wait is asked at its release. */
    @DontInline
    private static void takeUncounted(long block, Object lock, int kind) {
        int place = takePlace(block, kind);
        countOutside(place);
        long key = lockKey(lock) | (long) kind << 32;
        long held = U.getLong(block + HOLDS);
        int locks = locksOf(held);
        long entry = locks == 0 ? 0 : find(block, locks, key, kind);
        if (entry != 0) {
            U.putInt(entry + TIMES, U.getInt(entry + TIMES) + 1);
        } else if (locks < LOCKS_LIMIT) {
            entry = block + HELD_LOCKS + ((long) locks << 6);
            U.putLong(entry + KEY, key);
            U.putLong(entry + CELL, NOWHERE);
            U.putInt(entry + TIMES, 1);
            U.putInt(entry + PLACE_TAKEN, place);
            U.putLong(block + HOLDS, held + ONE_LOCK);
        }
    }

    /** As {@link #isEnteredAgain}. */
    @ForceInline
    private static boolean isTakenAgain(long block, Object lock, int kind) {
        int place = U.getInt(block + PLACE);
        // Permits may be no holds.
        if (place == 0 || kind == SEMAPHORE || U.getLong(block + HOLDS) != 0) {
            return false;
        }
        long hash = quickHash(lock);
        long cell = hash == 0 ? 0 : cellAgain(block, hash, lock, place, kind);
        if (cell == 0) {
            return false;
        }
        U.putInt(block + PLACE, 0);
        U.putLong(block + HELD_LOCKS + KEY, hash | (long) kind << 32);
        U.putLong(block + HELD_LOCKS + CELL, cell);
        U.putInt(block + HELD_LOCKS + TIMES, 1);
        U.putInt(block + HELD_LOCKS + PLACE_TAKEN, U.getInt(cell + CELL_PLACE));
        U.putLong(block + HOLDS, ONE_LOCK);
        return true;
    }

    @DontInline
    private static void taken(long block, Object lock, int how) {
        if ((U.getLong(block + HOLDS) & TIMED) != 0) {
            takenTimed(block, lock, how);
            return;
        }
        int kind = how & KIND;
        int place = takePlace(block, kind);
        long key = lockKey(lock) | (long) kind << 32;
        long held = U.getLong(block + HOLDS);
        int locks = locksOf(held);
        long recent = recent(block, lock, place);
        if (locks != 0 && lockAgain(block, locks, recent, key, lock, place, kind)) {
            return;
        }
        long cell = cell(block, recent, lock, place, kind);
        if (kind == SEMAPHORE && !isOpen(U.getInt(cell + CELL_PLACE), NO_HOLDS)) {
            U.putLong(cell + ACQUISITIONS, U.getLong(cell + ACQUISITIONS) + 1);
            if (IDENTITY && U.getLong(recent + RECENT_LOCK) != (key & HASH)) {
                identify(block, recent, key & HASH, cell, lock, place);
            }
            return;
        }
        if (locks >= LOCKS_LIMIT) {
            held = withoutOldPermits(block, held);
            locks = locksOf(held);
        }
        if (locks >= LOCKS_LIMIT) {
            U.putLong(cell + ACQUISITIONS, U.getLong(cell + ACQUISITIONS) + 1);
            takenElsewhere(block, recent, key & HASH, cell, lock, place);
            return;
        }
        // All that its release looks for, before what may fail.
        long entry = block + HELD_LOCKS + ((long) locks << 6);
        U.putLong(entry + KEY, key);
        U.putLong(entry + CELL, cell);
        U.putInt(entry + TIMES, 1);
        // That of its kind; and the cell may be gone, with its file, before the lock is released.
        U.putInt(entry + PLACE_TAKEN, U.getInt(cell + CELL_PLACE));
        U.putLong(block + HOLDS, held + ONE_LOCK);
        if (held != 0) {
            // Apart from nestings at which a thread may wait.
            int at = (how & ONLY_TRIED) == 0 ? place : place | TRIED_AT;
            nesting(block, held, recent, key, lock, at);
        }
        count(block, entry, recent, cell, key & HASH, lock, place);
    }

    /** As {@link #enterTimed}. */
    @DontInline
    private static void takenTimed(long block, Object lock, int how) {
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) ^ TIMED);
        long before = System.nanoTime();
        long begun = System.nanoTime();
        if (!isTakenAgain(block, lock, how & KIND)) {
            taken(block, lock, how);
        }
        timed(TIMED_TAKING, before, begun);
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) | TIMED);
    }

    /**
     * Forgets the permits that were acquired first of those that seem to be held, so that there is
     * room: where one thread acquires them and another gives them back, none would ever go.
     */
    private static long withoutOldPermits(long block, long held) {
        for (int i = 0; i < locksOf(held); i++) {
            long entry = block + HELD_LOCKS + ((long) i << 6);
            if (U.getLong(entry + KEY) >>> 32 == SEMAPHORE) {
                return withoutPermits(block, held, entry);
            }
        }
        return held;
    }

    /** Forgets permits that others give back, and looks for no holds where they were acquired. */
    private static long withoutPermits(long block, long held, long entry) {
        noHoldsAt(U.getInt(entry + PLACE_TAKEN));
        if (U.getLong(entry + START) != 0) {
            held -= ONE_MEASURED;
        }
        forget(block, held, entry);
        return U.getLong(block + HOLDS);
    }

    /** A method that may fail to take a lock has returned; beside the kind stands how it did it. */
    @ForceInline
    public static void tried(boolean granted, Object lock, int how) {
        if (on) {
            try {
                if (granted) {
                    take(lock, how);
                } else {
                    failed(lock, how & KIND);
                }
            } catch (StackOverflowError | OutOfMemoryError error) {
                // Not counted.
            }
        }
    }

    /** StampedLock is about to call one of its own methods, or has: what that one tells is no news. */
    public static void quiet(boolean quiet) {
        long block;
        if (on && (block = block()) != 0) {
            U.putInt(block + QUIET, quiet ? 1 : 0);
        }
    }

    /** A method of StampedLock has returned; 0 is failure. */
    @ForceInline
    public static void stamped(long stamp, Object lock, int how) {
        if (on) {
            try {
                long block = block();
                if (block != 0 && U.getInt(block + QUIET) == 0) {
                    tried(stamp != 0, lock, how);
                }
            } catch (StackOverflowError | OutOfMemoryError error) {
                // Not counted.
            }
        }
    }

    /**
     * A method of StampedLock has made one stamp of another: 0 is failure. What the thread had
     * in the other mode is released, and the lock taken in this one; kind 0 is none.
     */
    public static void converted(long stamp, long before, Object lock, int kind) {
        if (!on || stamp == before) {
            return;
        }
        try {
            long block = block();
            if (block == 0) {
                return;
            }
            if (stamp == 0) {
                if (kind != 0) {
                    failed(lock, kind);
                }
                return;
            }
            int other = kind == 0 ? 0 : kind ^ LOCK_READ ^ LOCK_WRITE;
            long held = U.getLong(block + HOLDS);
            if (find(block, locksOf(held), lockKey(lock), other) != 0) {
                released(lock, other);
            }
            if (kind != 0) {
                take(lock, kind | ONLY_TRIED);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            // Looks held in the other mode for some time longer.
        }
    }

    @DontInline
    private static void failed(Object lock, int kind) {
        long block = block();
        if (block != 0) {
            int place = takePlace(block, kind);
            long cell = cell(block, recent(block, lock, place), lock, place, kind);
            U.putLong(cell + FAILED, U.getLong(cell + FAILED) + 1);
        }
    }

    /** A lock is about to be released; kind 0 is whichever is held. */
    @ForceInline
    public static void released(Object lock, int kind) {
        if (on) {
            try {
                long block = block();
                if (block != 0) {
                    long held = U.getLong(block + HOLDS);
                    if (!isReleasedAlone(block, held, lock, kind)) {
                        givenUp(block, held, lock, kind);
                    }
                }
            } catch (StackOverflowError | OutOfMemoryError error) {
                // Looks held for some time longer.
            }
        }
    }

    /** Releases the only lock that is held, where nobody waits for any and nothing is measured. */
    @ForceInline
    private static boolean isReleasedAlone(long block, long held, Object lock, int kind) {
        if (held != ONE_LOCK || U.getLong(WAITING) != 0) {
            return false;
        }
        long hash = quickHash(lock);
        long key = U.getLong(block + HELD_LOCKS + KEY);
        if (hash == 0
                || (int) key != (int) hash
                || kind != 0 && (int) (key >>> 32) != kind
                || U.getInt(block + HELD_LOCKS + TIMES) != 1) {
            return false;
        }
        U.putLong(block + HOLDS, 0);
        return true;
    }

    /** As {@link #releasingTimed}. */
    @DontInline
    private static void givenUpTimed(long block, long held, Object lock, int kind) {
        U.putLong(block + HOLDS, held);
        long before = System.nanoTime();
        long begun = System.nanoTime();
        if (!isReleasedAlone(block, held, lock, kind)) {
            givenUp(block, held, lock, kind);
        }
        timed(TIMED_LEAVING, before, begun);
    }

    @DontInline
    private static void givenUp(long block, long held, Object lock, int kind) {
        if ((held & TIMED) != 0) {
            givenUpTimed(block, held ^ TIMED, lock, kind);
            return;
        }
        int locks = locksOf(held);
        // First, as in releasing.
        long now = held >>> 48 != 0 && isLockMeasured(block, locks) ? ticks() : 0;
        long hash = lockKey(lock);
        long entry = find(block, locks, hash, kind);
        if (entry == 0 && kind != 0) {
            // StampedLock may have made a read lock a write lock.
            entry = find(block, locks, hash, 0);
        }
        boolean isTimeable = true;
        if (entry != 0) {
            int times = U.getInt(entry + TIMES) - 1;
            if (times > 0) {
                U.putInt(entry + TIMES, times);
                return;
            }
            isTimeable = U.getInt(entry + FIRST) != UNTIMED;
            if (U.getLong(entry + START) == 0) {
                // Another one is.
                now = 0;
            }
            if (now != 0) {
                ended(block, entry, now);
                held = U.getLong(block + HOLDS);
            }
        }
        if (U.getLong(WAITING) != 0) {
            leaving(block, entry, hash, lock, placeOf(entry));
        }
        if (entry != 0) {
            forget(block, held, entry);
        }
        if (now != 0 && isTimeable) {
            timeNext(block, now);
        }
    }

    /** Condition.await is about to give the lock up. */
    public static void awaits(Object lock) {
        long block;
        if (!on || (block = block()) == 0) {
            return;
        }
        long held = U.getLong(block + HOLDS);
        long now = held >>> 48 != 0 ? ticks() : 0;
        long hash = lockKey(lock);
        long entry = find(block, locksOf(held), hash, 0);
        if (entry != 0 && now != 0 && U.getLong(entry + START) != 0) {
            // What is left is how long it was held so far; 0 would be no measured hold.
            U.putLong(entry + START, Math.max(1, now - U.getLong(entry + START)));
        }
        if (U.getLong(WAITING) != 0) {
            leaving(block, entry, hash, lock, placeOf(entry));
        }
    }

    /** Condition.await has the lock again. */
    public static void awaited(Object lock) {
        long block;
        if (!on || (block = block()) == 0) {
            return;
        }
        long entry = find(block, locksOf(U.getLong(block + HOLDS)), lockKey(lock), 0);
        if (entry != 0 && U.getLong(entry + START) != 0) {
            U.putLong(entry + START, ticks() - U.getLong(entry + START));
        }
    }

    private static int takePlace(long block, int kind) {
        int place = U.getInt(block + PLACE);
        if (place == 0) {
            // The numbers of the unknown places are those of the kinds.
            return kind;
        }
        U.putInt(block + PLACE, 0);
        return Math.abs(place);
    }

    private static long find(long block, int locks, long hash, int kind) {
        for (int i = locks - 1; i >= 0; i--) {
            long entry = block + HELD_LOCKS + ((long) i << 6);
            long key = U.getLong(entry + KEY);
            if ((int) key == (int) hash && (kind == 0 || (int) (key >>> 32) == kind)) {
                return entry;
            }
        }
        return 0;
    }

    private static boolean isLockMeasured(long block, int locks) {
        for (int i = 0; i < locks; i++) {
            if (U.getLong(block + HELD_LOCKS + ((long) i << 6) + START) != 0) {
                return true;
            }
        }
        return false;
    }

    private static int locksOf(long held) {
        return (int) (held >>> 32) & 0xffff;
    }

    private static int placeOf(long entry) {
        return entry == 0 ? 0 : U.getInt(entry + PLACE_TAKEN);
    }

    private static void forget(long block, long held, long entry) {
        long last = block + HELD_LOCKS + ((long) (locksOf(held) - 1) << 6);
        if (entry != last) {
            U.copyMemory(last, entry, 64);
        }
        U.putLong(last + START, 0);
        U.putLong(last + STACK, 0);
        held -= ONE_LOCK;
        U.putLong(block + HOLDS, held);
        if (held << 16 == 0 && held != 0) {
            // Some are being measured, of nothing: as in releasing.
            nothingHeld(block);
        }
    }

    @DontInline
    private static boolean lockAgain(
            long block, int locks, long recent, long key, Object lock, int place, int kind) {
        long entry = find(block, locks, key, kind);
        if (entry == 0) {
            return false;
        }
        int times = U.getInt(entry + TIMES) + 1;
        U.putInt(entry + TIMES, times);
        if (kind == SEMAPHORE && times >= PERMITS_LIMIT) {
            withoutPermits(block, U.getLong(block + HOLDS), entry);
        }
        long cell = cell(block, recent, lock, place, kind);
        // Permits of a semaphore are acquired anew each time; others may release them.
        long counted = cell + (kind == SEMAPHORE ? ACQUISITIONS : REENTRANT);
        U.putLong(counted, U.getLong(counted) + 1);
        takenElsewhere(block, recent, key & HASH, cell, lock, place);
        return true;
    }

    // ---- what both have in common

    /** Counts an acquisition; looks whether it is measured, and whether the thread is known here. */
    @ForceInline
    private static void count(
            long block, long entry, long recent, long cell, long key, Object lock, int place) {
        long nth = U.getLong(cell + ACQUISITIONS) + 1;
        U.putLong(cell + ACQUISITIONS, nth);
        if (IDENTITY && U.getLong(recent + RECENT_LOCK) != key) {
            identify(block, recent, key, cell, lock, place);
        }
        long next = U.getLong(cell + NEXT);
        if (nth >= next) {
            if (nth >= (next & NEXT_STACK)) {
                sample(block, entry, cell, nth, lock, place);
            } else {
                U.putLong(block + HOLDS, U.getLong(block + HOLDS) + ONE_MEASURED);
                U.putLong(entry + START, ticks());
            }
        }
    }

    /** This hold is to be measured: the agent does it where it also takes the stack. */
    @DontInline
    private static void sample(
            long block, long entry, long cell, long nth, Object lock, int place) {
        // As it was asked for when the cell was made: all that it counts is of one kind.
        int every = (U.getInt(cell + CLOSED) >>> MEASURED_SHIFT) - 1;
        if (every > 1 && nth > FIRST_HOLDS && nth < FIRST_MEASURED && nth % every != 0) {
            measureFirst(block, entry, cell, nth, UNTIMED);
            return;
        }
        long samples = U.getLong(block + SAMPLES) + 1;
        if (every <= 1
                || nth <= FIRST_HOLDS
                || nth == FIRST_MEASURED
                || hasStack(samples, every)) {
            sampled(block, entry, lock, place);
            return;
        }
        U.putLong(block + SAMPLES, samples);
        if (nth < FIRST_MEASURED) {
            measureFirst(block, entry, cell, nth, TIMEABLE);
            return;
        }
        // xorshift64
        long random = U.getLong(block + RANDOM);
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        U.putLong(block + RANDOM, random);
        // One in each run of so many.
        long end = (nth + every - 1) / every * every;
        U.putLong(cell + NEXT, end + 1 + ((random >>> 33) * every >>> 31));
        U.putLong(entry + STACK, 0);
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) + ONE_MEASURED);
        // Last: what went before is the agent's time, not the program's.
        U.putLong(entry + START, ticks());
    }

    /**
     * All of a cell's first holds are measured: where long ones are rare, a few samples would say
     * nothing of them. As few of these as later have the probes behind them timed: what those take
     * shall be that of all.
     */
    private static void measureFirst(long block, long entry, long cell, long nth, int first) {
        U.putLong(cell + NEXT, nth + 1);
        U.putInt(entry + STACK, 0);
        U.putInt(entry + FIRST, first);
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) + ONE_MEASURED);
        U.putLong(entry + START, ticks());
    }

    /** Whether a sample has its stack taken, where one acquisition in so many is one. */
    private static boolean hasStack(long samples, int every) {
        return every >= STACK_EVERY || (int) samples % (STACK_EVERY / every) == 0;
    }

    /** Not the instance that this thread took last here: another one that it has taken, or a new one. */
    @DontInline
    private static void identify(
            long block, long recent, long key, long cell, Object lock, int place) {
        if (key >>> 31 != 0) {
            if (isForLater(block, recent, cell, lock, place)) {
                // Has no hash, and must not get one now.
                return;
            }
        } else {
            takenAt(cell, key);
            if (U.getByte(cell + CLOSED) != 0 && !mayBeEntered(key)) {
                // A new one each time, as nearly all of them here: a look at the tables would wait
                // for memory.
                U.putLong(cell + UNIDENTIFIED, U.getLong(cell + UNIDENTIFIED) + 1);
                return;
            }
            // Before the looks: whoever clears the tables clears these in the same order.
            U.putLong(recent + RECENT_LOCK, key);
            long known = U.getLong(block + NOTES) + KNOWN + ((key & KNOWN_MASK) << 2);
            if (U.getInt(known) == (int) key) {
                return;
            }
            U.putInt(known, (int) key);
            int found = lookUp(key, (int) U.getLong(block + ME));
            if (found == MINE) {
                return;
            }
            U.putLong(recent + RECENT_LOCK, 0);
            U.putInt(known, 0);
            if (found == OTHERS || found == NOBODYS && U.getByte(cell + CLOSED) == 0) {
                noteInstance(block, key, cell, lock, place);
                return;
            }
        }
        U.putLong(cell + UNIDENTIFIED, U.getLong(cell + UNIDENTIFIED) + 1);
    }

    /** Whether a lock without a hash is noted, to get one later. Else nobody knows which it was. */
    private static boolean isForLater(
            long block, long recent, long cell, Object lock, int place) {
        if (U.getByte(cell + CLOSED) == 0
                && isOpen(place, NO_INSTANCES)
                && hashLater(recent, lock, place, U.getLong(block + ME))) {
            return true;
        }
        takenAt(cell, SEVERAL_INSTANCES);
        return false;
    }

    /** An instance was taken at the place of a cell: the agent is told where that is news. */
    private static void takenAt(long cell, long hash) {
        int place = U.getInt(cell + CELL_PLACE);
        long word = U.getLong(PLACE_INSTANCES + ((long) (place & PLACE_INSTANCES_MASK) << 3));
        long known = (long) place << 32;
        // The cell for what the log has no room for has none.
        if (word != (known | hash) && word != (known | SEVERAL_INSTANCES) && place != 0) {
            notePlaceInstance(place, (int) hash);
        }
    }

    /** The same of one that is not looked up among those that the thread takes. */
    private static void takenElsewhere(
            long block, long recent, long key, long cell, Object lock, int place) {
        if (!IDENTITY) {
            return;
        }
        if (key >>> 31 == 0) {
            takenAt(cell, key);
        } else {
            isForLater(block, recent, cell, lock, place);
        }
    }

    @ForceInline
    private static boolean isOpen(int place, int bit) {
        return (U.getByte(CLOSED_PLACES + (place & CLOSED_PLACES_MASK)) & bit) == 0;
    }

    /** Whether an instance stands in the table, or another that has the same bit. */
    private static boolean mayBeEntered(long hash) {
        int bit = (int) hash & ENTERED_MASK;
        return (U.getByte(ENTERED + (bit >>> 3)) >>> (bit & 7) & 1) != 0;
    }

    /** Who is known to take the instance of a hash. */
    private static int lookUp(long hash, int me) {
        long nth = hash & INSTANCE_MASK;
        for (int i = 0; i < INSTANCE_REACH; i++, nth++) {
            long word = U.getLong(INSTANCES + (nth << 3));
            if (word >>> 32 == hash) {
                return isKnown(nth, (int) word, me) ? MINE : OTHERS;
            }
            if (word == 0) {
                return NOBODYS;
            }
        }
        return CROWDED;
    }

    /** Whether a thread is the owner of an instance, or one of those who share it. */
    private static boolean isKnown(long nth, int owner, int me) {
        if (owner != SHARED) {
            return owner == me;
        }
        int bit = Integer.remainderUnsigned(me, SHARERS);
        return (U.getLong(SETS + nth * (SHARERS / 8) + ((bit >>> 6) << 3)) >>> (bit & 63) & 1) != 0;
    }

    /** The current thread's block, 0 when it has none. */
    @ForceInline
    private static long block() {
        Thread thread = Thread.currentThread();
        long id = U.getLong(thread, TID);
        long slot = THREADS + ((id & THREADS_MASK) << 4);
        return U.getLong(slot) == id ? U.getLong(slot + 8) : blockElsewhere(thread, id);
    }

    /** Another thread stands in its own slot, or it is new; see slots.rs. */
    @DontInline
    private static long blockElsewhere(Thread thread, long id) {
        long table = THREADS;
        long mask = THREADS_MASK;
        for (long longer = LONGER_THREADS; table != 0; longer += 8) {
            long mixed = id;
            for (int i = 0; i < THREADS_REACH; i++) {
                mixed = (mixed ^ mixed >>> 32) * MIX;
                long slot = table + ((mixed >>> 40 & mask) << 4);
                if (U.getLong(slot) == id) {
                    return U.getLong(slot + 8);
                }
            }
            table = U.getLong(longer);
            mask = mask << 2 | 3;
        }
        if (U.getInt(THREADS_FULL) != 0) {
            long bit = id & REFUSED_MASK;
            if ((U.getByte(THREADS_REFUSED + (bit >>> 3)) >>> (bit & 7) & 1) != 0) {
                return 0;
            }
        }
        return newBlock(thread, id);
    }

    /** The cell of this thread, place and class. */
    @ForceInline
    private static long cell(long block, long recent, Object lock, int place, int kind) {
        long key = cellKey(typeOf(lock), place, kind);
        return U.getLong(recent) == key
                ? U.getLong(recent + 8)
                : cellElsewhere(block, recent, key, lock, kind);
    }

    @ForceInline
    private static int typeOf(Object lock) {
        return U.getInt(lock, classOffset) >>> CLASS_SHIFT;
    }

    /** The classes of locks are few: their low bits are left alone by a kind in the high ones. */
    @ForceInline
    private static long cellKey(int type, int place, int kind) {
        return (long) (type ^ kind << 28) << 32 | place;
    }

    /** Where the cell, the instance and the nesting stand that were met last. */
    @ForceInline
    private static long recent(long block, Object lock, int place) {
        // Classes stand at multiples of eight, or in kilobytes.
        int type = typeOf(lock);
        int nth = (place ^ type ^ type >>> 3 ^ type >>> 10) & U.getInt(block + RECENT_MASK);
        return block + RECENT + ((long) nth << 5);
    }

    /** Not the cell that was met last. */
    @DontInline
    private static long cellElsewhere(
            long block, long recent, long key, Object lock, int kind) {
        long cells = U.getLong(block + CELLS);
        long cell = known(cells, key);
        if (cell == 0) {
            cell = newCell(block, key, lock, kind);
        }
        // That of another place or class: the same instance would not be seen to be taken here.
        U.putLong(recent + RECENT_LOCK, 0);
        if (cell != NOWHERE) {
            U.putLong(recent + 8, cell);
            U.putLong(recent, key);
            // The log may just have gone on in another file: see forget_cells in blocks.rs.
            U.fullFence();
            if (U.getLong(block + CELLS) != cells) {
                U.putLong(recent, 0);
            }
        }
        return cell;
    }

    private static long known(long cells, long key) {
        long mask = U.getLong(cells);
        for (long i = 0; i <= mask; i++) {
            long slot = cells + 16 + ((((int) key + i) & mask) << 4);
            long found = U.getLong(slot);
            if (found == key) {
                return U.getLong(slot + 8);
            }
            if (found == 0) {
                break;
            }
        }
        return 0;
    }

    /** A measured hold ends. */
    @DontInline
    private static void ended(long block, long entry, long now) {
        long took = now - U.getLong(entry + START);
        U.putLong(entry + START, 0);
        U.putLong(block + HOLDS, U.getLong(block + HOLDS) - ONE_MEASURED);
        // With a stack; or too long to be multiplied here, where a tick may be 42 ns.
        if (took >>> 24 != 0 || U.getInt(entry + STACK) != 0) {
            endedAfter(block, entry, took, now);
            return;
        }
        long ns = took * TICK >>> 32;
        long cell = U.getLong(entry + CELL);
        long sums = cell + (U.getInt(entry + FIRST) != 0 ? FIRST_COUNT : SAMPLED);
        U.putInt(entry + FIRST, 0);
        U.putLong(sums, U.getLong(sums) + 1);
        U.putLong(sums + SUM, U.getLong(sums + SUM) + ns);
        if (ns > U.getLong(cell + LONGEST)) {
            U.putLong(cell + LONGEST, ns);
        }
        long bucket = cell + HISTOGRAM + ((63 - Long.numberOfLeadingZeros(ns | 1)) << 2);
        U.putInt(bucket, U.getInt(bucket) + 1);
        // Where this has been asked for, there is a ring.
        long ring = U.getLong(EVERY_EVENT) == 0 ? 0 : U.getLong(block + RING);
        if (ring != 0) {
            long at = U.getLong(ring);
            if (at > RING_LIMIT) {
                // It could not be written.
                at = 32;
            }
            U.putLong(ring + at, cell);
            U.putLong(ring + at + 8, U.getLong(entry + KEY));
            U.putLong(ring + at + 16, now);
            U.putLong(ring + at + 24, ns);
            U.putLong(ring, at + 32);
            if (at >= RING_LIMIT) {
                writeEvents(block);
            }
        }
    }

    // ---- what a lock is known by while it is held

    /**
     * The hash of a monitor that this thread holds; without one, and where giving it one would
     * inflate the monitor, where on its stack the thread keeps the lock: also the same until it is
     * released, but of no use afterwards.
     */
    @ForceInline
    private static long key(Object lock) {
        long header = U.getLong(lock, 0L);
        if (LAYOUT == DISPLACED) {
            if (header == 0) {
                // Somebody else has just begun to inflate it.
                return System.identityHashCode(lock);
            }
            if ((header & 3) == 0) {
                if (!IDENTITY) {
                    return header;
                }
                // Our own stack: nobody else can hold what we hold.
                header = U.getLong(header);
            } else if ((header & 3) == 2) {
                header = U.getLong(header - 2);
            }
            long hash = header >>> HASH_SHIFT & HASH;
            return hash != 0 && (header & 7) == 1 ? hash : withoutHash(lock);
        }
        if (LAYOUT == IN_MARK) {
            if ((header & 3) == 2) {
                header = U.getLong(header - 2);
            }
            long hash = header >>> HASH_SHIFT & HASH;
            return hash != 0 ? hash : System.identityHashCode(lock);
        }
        return System.identityHashCode(lock);
    }

    @DontInline
    private static long withoutHash(Object lock) {
        long mark = U.getLong(lock, 0L);
        // Stack-locked: anything else takes a hash without harm.
        return mark != 0 && (mark & 3) == 0 ? mark : System.identityHashCode(lock);
    }

    /** The hash of a lock of java.util.concurrent, whose monitor is hardly ever used. */
    @ForceInline
    private static long lockKey(Object lock) {
        long hash = quickHash(lock);
        return hash != 0 ? hash : System.identityHashCode(lock);
    }

    /** The same where it is simple, else 0. */
    @ForceInline
    private static long quickHash(Object lock) {
        long mark = U.getLong(lock, 0L);
        return LAYOUT != ELSEWHERE && (mark & 7) == 1 ? mark >>> HASH_SHIFT & HASH : 0;
    }

    /** Tries out how far up in an object's first word the JVM keeps its hash; -1 elsewhere. */
    private static int exploreShift() {
        for (int shift = 8; shift <= 11; shift += 3) {
            Object one = new Object();
            Object other = new Object();
            if ((U.getLong(one, 0L) & 3) == 1
                    && hashed(one) == (U.getLong(one, 0L) >>> shift & HASH)
                    && hashed(other) == (U.getLong(other, 0L) >>> shift & HASH)) {
                return shift;
            }
        }
        return -1;
    }

    private static long hashed(Object object) {
        return System.identityHashCode(object);
    }

    /** Tries out where the JVM keeps the hash of a locked object. */
    private static int explore() {
        if (HASH_SHIFT < 0 || U.addressSize() != 8) {
            return ELSEWHERE;
        }
        Object held = new Object();
        long hash = hashed(held);
        synchronized (held) {
            long mark = U.getLong(held, 0L);
            if ((mark & 3) == 2) {
                return waitedFor() ? IN_MARK : ELSEWHERE;
            }
            if ((mark & 3) != 0) {
                return ELSEWHERE;
            }
            if ((mark >>> HASH_SHIFT & HASH) == hash) {
                return waitedFor() ? IN_MARK : ELSEWHERE;
            }
            // A pointer into the stack of this thread.
            boolean points = mark != 0 && (U.getLong(mark) >>> HASH_SHIFT & HASH) == hash;
            return points && waitedFor() ? DISPLACED : ELSEWHERE;
        }
    }

    /** Tries out which word of a monitor counts how often more than once it is held. */
    private static long exploreRecursions() {
        Object held = new Object();
        synchronized (held) {
            try {
                held.wait(1);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return 0;
            }
            long monitor = U.getLong(held, 0L) - 2;
            for (long at = 16; at < 256; at += 8) {
                if (U.getLong(monitor + at) == 0 && countsRecursions(held, monitor + at, 1)) {
                    return at;
                }
            }
        }
        return 0;
    }

    private static boolean countsRecursions(Object held, long word, int expected) {
        synchronized (held) {
            return U.getLong(word) == expected
                    && (expected == 3 || countsRecursions(held, word, expected + 1));
        }
    }

    /** Tries out which word of a monitor is 0 if, and only if, nobody holds it; 0 if none is. */
    private static long exploreOwner() {
        Object held = new Object();
        long monitor;
        synchronized (held) {
            try {
                held.wait(1);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return 0;
            }
            monitor = U.getLong(held, 0L) - 2;
        }
        // A bit for each word, from the second on: the first one is the header.
        int words = 0xfffffffe;
        for (int i = 0; i < 4; i++) {
            synchronized (held) {
                words &= ~zeros(monitor);
            }
            words &= zeros(monitor);
        }
        // If it is not inflated any more, nothing was found out.
        return U.getLong(held, 0L) == monitor + 2 && Integer.bitCount(words) == 1
                ? 8L * Integer.numberOfTrailingZeros(words)
                : 0;
    }

    /** Which of a monitor's words are 0. */
    private static int zeros(long monitor) {
        int zeros = 0;
        for (int i = 0; i < 32; i++) {
            zeros |= U.getLong(monitor + 8L * i) == 0 ? 1 << i : 0;
        }
        return zeros;
    }

    /** Whether a monitor's first word holds the hash, too. */
    private static boolean waitedFor() {
        Object held = new Object();
        long hash = hashed(held);
        synchronized (held) {
            try {
                held.wait(1);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return false;
            }
            long mark = U.getLong(held, 0L);
            if ((mark >>> HASH_SHIFT & HASH) == hash) {
                // Monitors stand in a table, and the first word is no pointer to one.
                return false;
            }
            return (mark & 3) == 2 && mark > 4096
                    && (U.getLong(mark - 2) >>> HASH_SHIFT & HASH) == hash;
        }
    }

    // ---- locks that get their hash later

    /**
     * Locks that were held when their hash was wanted: weak references, which are there before
     * they are needed, as the program's heap may be full then.
     */
    private static final Object[] LATER = references(16384);
    /** Place and thread, inverted: never 0 once it is written. */
    private static final long[] LATER_BY = new long[16384];
    private static final int LATER_MASK = LATER.length - 1;
    /** How many places were given away, and how many of them were seen to: ints that wrap. */
    private static final long LATER_GIVEN = address(8);
    private static final long LATER_DONE = LATER_GIVEN + 4;
    /** How often they were looked at: an int that wraps. */
    private static final long LATER_LOOKS = LATER_GIVEN + 8;
    /** How many were still held then. */
    private static final long LATER_AGAIN = LATER_GIVEN + 12;
    /** So many threads may be between a look at these and taking a place. */
    private static final int LATER_SPARE = 2048;
    /** Those that were still held. */
    private static final Object[] AGAIN = references(4096);
    private static final long[] AGAIN_BY = new long[4096];
    private static int again;
    /** With less room in the heap, in bytes, nothing is allocated. */
    private static final long LEAST_ROOM = 4 << 20;

    /** Weak references to nothing; only where locks may get their hash later. */
    private static Object[] references(int count) {
        Object[] references = new Object[count];
        for (int i = 0; LAYOUT == DISPLACED && IDENTITY && i < count; i++) {
            references[i] = new java.lang.ref.WeakReference<Object>(null);
        }
        return references;
    }

    /** Notes a lock for {@link #hashNow}; false when there are too many. */
    private static boolean hashLater(long recent, Object lock, int place, long me) {
        long by = (long) place << 32 | me;
        // One that a thread takes again and again would fill all places before the next look.
        if (isNotedForLater(U.getLong(recent + RECENT_LOCK), lock, by)) {
            return true;
        }
        int waiting = U.getInt(LATER_GIVEN) - U.getIntVolatile(null, LATER_DONE);
        if (waiting >= LATER.length - LATER_SPARE) {
            return false;
        }
        int looks = U.getInt(LATER_LOOKS);
        int at = U.getAndAddInt(null, LATER_GIVEN, 1) & LATER_MASK;
        Object reference = LATER[at];
        try {
            if (reference != null) {
                pointTo(reference, lock);
            }
            U.storeFence();
        } finally {
            // Also where the stack ends: hashNow waits for it, and all that come later.
            LATER_BY[at] = ~by;
        }
        if (reference != null) {
            // Less than 0: no hash.
            long noted = Long.MIN_VALUE | (long) at << 32 | looks & 0xffffffffL;
            U.putLong(recent + RECENT_LOCK, noted);
        }
        return true;
    }

    /**
     * Whether a lock was noted, by the same thread at the same place, since the last look. What
     * tells is the reference that was noted: an object may move, and another one be where it was.
     */
    private static boolean isNotedForLater(long noted, Object lock, long by) {
        if (noted >= 0 || (int) noted != U.getInt(LATER_LOOKS)) {
            return false;
        }
        int at = (int) (noted >>> 32) & LATER_MASK;
        Object reference = LATER[at];
        return reference != null
                && LATER_BY[at] == ~by
                && ((java.lang.ref.Reference<?>) reference).get() == lock;
    }

    /** Called by the agent, one thread at a time: gives hashes to what nobody holds now. */
    static void hashNow() {
        // First: what is noted after the new look has begun is for the next one.
        int given = U.getIntVolatile(null, LATER_GIVEN);
        U.putIntVolatile(null, LATER_LOOKS, U.getInt(LATER_LOOKS) + 1);
        int waiting = again;
        again = 0;
        for (int i = 0; i < waiting; i++) {
            AGAIN[i] = hash(AGAIN[i], AGAIN_BY[i]);
        }
        int done = U.getInt(LATER_DONE);
        for (; done != given; done++) {
            int at = done & LATER_MASK;
            long by = LATER_BY[at];
            if (by == 0) {
                // Its thread is just writing it.
                break;
            }
            U.loadFence();
            LATER[at] = hash(LATER[at], ~by);
            LATER_BY[at] = 0;
            U.putIntVolatile(null, LATER_DONE, done + 1);
        }
        U.putInt(LATER_AGAIN, again);
    }

    /** Sees to one, and returns a reference to nothing for its place. */
    private static Object hash(Object noted, long by) {
        java.lang.ref.Reference<?> reference = (java.lang.ref.Reference<?>) noted;
        Object lock = reference == null ? null : reference.get();
        long mark = lock == null ? 0 : U.getLong(lock, 0L);
        if ((mark & 3) == 1 || (mark & 3) == 2) {
            noteHashed(System.identityHashCode(lock), by, lock);
        } else if (lock != null && again < AGAIN.length) {
            // What stands there is a reference to nothing, or the same one.
            Object other = AGAIN[again];
            AGAIN_BY[again] = by;
            AGAIN[again++] = noted;
            return other;
        } else {
            // Nobody will know which one was taken.
            noteHashed(0, by, null);
        }
        if (lock != null) {
            reference.clear();
            return reference;
        }
        // The collector uses up what it clears: it would keep the next lock alive.
        return hasRoom() ? new java.lang.ref.WeakReference<Object>(null) : null;
    }

    private static boolean hasRoom() {
        Runtime runtime = Runtime.getRuntime();
        long room = runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory();
        return room >= LEAST_ROOM;
    }

    // ---- the numbers of classes

    // What typeOf reads of an object is where the JVM has its own structure of the class, which
    // the class's mirror leads to as well. Where an unloaded class had it, another one may.

    /** Where in a mirror the address of the structure stands. */
    private static long structureAt;
    /** What a number is multiplied by, as a shift, and what is added. */
    private static int structureShift;
    private static long structureBase;

    /** Called by the agent once: tries out how numbers follow from mirrors; 0 where they do not. */
    static int findNumbers() {
        Object[] known = {
            new Object(), "", U, Thread.currentThread(), Object.class, new int[0], LATER, 1, true
        };
        for (long at = 8; at < 160; at += 8) {
            for (int shift = 0; shift <= 12; shift++) {
                long number = typeOf(known[0]) & 0xffffffffL;
                long base = U.getLong(known[0].getClass(), at) - (number << shift);
                if (isNumbered(known, at, shift, base)) {
                    structureAt = at;
                    structureShift = shift;
                    structureBase = base;
                    return 1;
                }
            }
        }
        return 0;
    }

    private static boolean isNumbered(Object[] known, long at, int shift, long base) {
        for (Object object : known) {
            long structure = U.getLong(object.getClass(), at);
            if ((int) (structure - base >>> shift) != typeOf(object)) {
                return false;
            }
        }
        return true;
    }

    /** Called by the agent: what {@link #typeOf} will read of the objects of a new class. */
    static int numberOf(Class<?> type) {
        return (int) (U.getLong(type, structureAt) - structureBase >>> structureShift);
    }

    // ---- the JDK's locks

    /**
     * Called by the agent once these have probes, while nothing is counted: takes each once. On
     * JDK 9 to 13 they use variable handles, which the JVM links anew then, in the program's heap.
     */
    static void passLocks() {
        java.util.concurrent.locks.ReentrantReadWriteLock readWrite =
                new java.util.concurrent.locks.ReentrantReadWriteLock();
        pass(new java.util.concurrent.locks.ReentrantLock());
        pass(readWrite.readLock());
        pass(readWrite.writeLock());
        java.util.concurrent.locks.StampedLock stamped =
                new java.util.concurrent.locks.StampedLock();
        stamped.unlockWrite(stamped.writeLock());
        stamped.unlockRead(stamped.readLock());
        java.util.concurrent.Semaphore semaphore = new java.util.concurrent.Semaphore(1);
        semaphore.acquireUninterruptibly();
        semaphore.release();
    }

    private static void pass(java.util.concurrent.locks.Lock lock) {
        lock.lock();
        lock.unlock();
        if (lock.tryLock()) {
            lock.unlock();
        }
    }

    // ---- the agent

    private static native long address(int which);

    private static native long newBlock(Thread thread, long id);

    private static native long newCell(long block, long key, Object lock, int kind);

    private static native void sampled(long block, long entry, Object lock, int place);

    private static native void endedAfter(long block, long entry, long took, long now);

    private static native void writeEvents(long block);

    private static native void delayed(
            Thread thread, Object lock, int place, long asked, long now);

    private static native void notifying(Object object, boolean all, Thread waker);

    private static native long stillHeld(long block, int place);

    private static native void left(long block, long entry, Object lock, int place);

    private static native boolean noteNesting(long block, long key, int place, Object lock);

    private static native void noteInstance(long block, long key, long cell, Object lock, int place);

    private static native void noteHashed(int hash, long by, Object lock);

    private static native void notePlaceInstance(int place, int hash);

    /** Has a weak reference, which is to nothing, be one to a lock. */
    private static native void pointTo(Object reference, Object lock);

    /** Others change bits of the same byte. */
    private static native void noHoldsAt(int place);

    private static native long ticks();
}
