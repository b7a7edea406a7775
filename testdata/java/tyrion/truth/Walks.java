package tyrion.truth;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code walks SECONDS THREADS [KIND [DEEPEST]]}: threads (KIND {@code platform} or {@code virtual})
 * go down stacks of all sorts of frames, by chance, up to DEEPEST steps, and park there for no time
 * at all, since they unpark themselves before: a wait, and so a walk of the stack, without a change
 * of threads. Meanwhile classes are loaded, which makes compiled code invalid, and unloaded.
 *
 * <p>Reports how often they have parked.
 */
public final class Walks implements Scenario {
    /** Something that goes on, deeper down. */
    public interface Step {
        int go(Walks walks, Random random, int depth);
    }

    /** Numbers that are spread well enough, a thread's own. */
    public static final class Random {
        private long state;

        Random(long seed) {
            state = seed * 0x9e3779b97f4a7c15L + 1;
        }

        int below(int bound) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            return (int) ((state >>> 33) % bound);
        }
    }

    private static final int STEPS = 12;

    private final LongAdder parks = new LongAdder();
    private volatile boolean stopping;
    private int deepest;
    private volatile Step loaded = (walks, random, depth) -> walks.next(random, depth);
    private final MethodHandle handle;
    private final Method method;

    public Walks() throws ReflectiveOperationException {
        MethodType type = MethodType.methodType(int.class, Random.class, int.class);
        handle = MethodHandles.lookup().findVirtual(Walks.class, "next", type);
        method = Walks.class.getDeclaredMethod("next", Random.class, int.class);
    }

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        long seconds = arguments.number(0, 2);
        int count = arguments.number(1, 4);
        deepest = arguments.number(3, 24);
        boolean virtual = arguments.text(2, "").equals("virtual");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Random random = new Random(i + 1);
            Runnable body = () -> walk(random);
            threads.add(virtual ? startVirtual(body) : Threads.start("walker-" + i, body));
        }
        Thread loader = Threads.start("loader", this::load);
        Threads.sleepMillis(seconds * 1000);
        stopping = true;
        Threads.join(threads);
        Threads.join(loader);
        report.put("parks", parks.sum());
    }

    private static Thread startVirtual(Runnable body) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
    }

    private void walk(Random random) {
        while (!stopping) {
            next(random, random.below(deepest));
        }
    }

    /** Goes on in one of many ways, or parks. */
    public int next(Random random, int depth) {
        if (depth <= 0) {
            return park();
        }
        int rest = depth - 1;
        switch (random.below(STEPS)) {
            case 0:
                return plain(random, rest, 1, 2L, 3.0, 4, 5L, 6, 7L, 8);
            case 1:
                return synchronizedOne(new Object(), random, rest);
            case 2:
                return ((IntUnaryOperator) less -> next(random, less)).applyAsInt(rest);
            case 3:
                return byHandle(random, rest);
            case 4:
                return byReflection(random, rest);
            case 5:
                return thrown(random, rest);
            case 6:
                return loaded.go(this, random, rest);
            case 7:
                return new ConcurrentHashMap<Integer, Integer>()
                        .computeIfAbsent(rest, less -> next(random, less));
            case 8:
                return Changing.go(this, random, rest);
            case 9:
                return sorted(random, rest);
            case 10:
                return new Recursive(random).go(5, rest);
            default:
                return Arrays.stream(new int[] {rest}).map(less -> next(random, less)).sum();
        }
    }

    private int park() {
        parks.increment();
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park(this);
        return 1;
    }

    private int plain(
            Random random, int depth, int a, long b, double c, int d, long e, int f, long g, int h) {
        return next(random, depth) + (a + d + f + h > b + c + e + g ? 1 : 0);
    }

    private int synchronizedOne(Object monitor, Random random, int depth) {
        synchronized (monitor) {
            return next(random, depth);
        }
    }

    private int byHandle(Random random, int depth) {
        try {
            return (int) handle.invokeExact(this, random, depth);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private int byReflection(Random random, int depth) {
        try {
            return (int) method.invoke(this, random, depth);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
    }

    private int thrown(Random random, int depth) {
        try {
            throw new IllegalArgumentException(null, null) {
                @Override
                public Throwable fillInStackTrace() {
                    return this;
                }
            };
        } catch (IllegalArgumentException e) {
            return next(random, depth);
        } finally {
            random.below(2);
        }
    }

    private int sorted(Random random, int depth) {
        Integer[] two = {2, 1};
        boolean[] been = new boolean[1];
        Arrays.sort(two, (one, other) -> {
            if (!been[0]) {
                been[0] = true;
                next(random, depth);
            }
            return one - other;
        });
        return two[0];
    }

    private final class Recursive {
        private final Random random;

        Recursive(Random random) {
            this.random = random;
        }

        int go(int times, int depth) {
            return times == 0 ? next(random, depth) : go(times - 1, depth) + 1;
        }
    }

    /** What {@code tyrion.agents.Redefiner} changes. */
    public static final class Changing {
        private Changing() {}

        static int go(Walks walks, Random random, int depth) {
            return further(walks, random, depth) + 12345;
        }

        private static int further(Walks walks, Random random, int depth) {
            int more = walks.next(random, depth);
            return more == 12345 ? 0 : more;
        }
    }

    /** What is loaded again and again, each time as another class. */
    public static final class Loaded implements Step {
        @Override
        public int go(Walks walks, Random random, int depth) {
            return deeper(walks, random, depth) + 1;
        }

        private int deeper(Walks walks, Random random, int depth) {
            return walks.next(random, depth);
        }
    }

    private void load() {
        byte[] bytes = bytesOf(Loaded.class);
        for (int nth = 0; !stopping; nth++) {
            try {
                Class<?> again = new Loader(bytes).loadClass(Loaded.class.getName());
                loaded = (Step) again.getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
            if (nth % 16 == 0) {
                System.gc();
            }
            Threads.sleepMillis(20);
        }
    }

    private static byte[] bytesOf(Class<?> of) {
        String name = of.getName();
        String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
        try (InputStream in = of.getResourceAsStream(file)) {
            return Older.readAll(in);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Loads one class by itself, and all else as ever. */
    private static final class Loader extends ClassLoader {
        private final byte[] bytes;

        Loader(byte[] bytes) {
            super(Walks.class.getClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(Loaded.class.getName())) {
                return defineClass(name, bytes, 0, bytes.length);
            }
            return super.loadClass(name, resolve);
        }
    }
}
