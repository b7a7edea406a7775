import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;

/** A bit of everything that the rewriting has to move: see the README beside this file. */
public class Monitors {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        String[] value() default {};
    }

    private final Object lock;
    private long count;

    public Monitors(Object lock) {
        this.lock = lock == null ? new Object() : lock;
    }

    public Monitors() {
        this(new StringBuilder(Math.random() > 2 ? "a" : "b").toString());
    }

    public int block(int n) {
        synchronized (lock) {
            for (int i = 0; i < n; i++) {
                synchronized (this) {
                    count += i;
                }
                if (count > 1_000_000L) {
                    return (int) count;
                }
            }
        }
        return n;
    }

    public synchronized String method(int kind, double scale) throws InterruptedException {
        switch (kind) {
            case 1:
                wait(1);
            case 2:
                return "two" + scale;
            case 1000:
                throw new IllegalStateException();
            default:
                return null;
        }
    }

    public static synchronized long tables(int kind) {
        switch (kind) {
            case 10: return 1L;
            case 11: return 2L;
            case 12: return 3L;
            default: return kind;
        }
    }

    public void startsWithItsLoop() {
        do {
            count++;
        } while (count % 7 != 0);
    }

    public float nested(String name) {
        try {
            synchronized (lock) {
                return Float.parseFloat(name);
            }
        } catch (NumberFormatException e) {
            return 0;
        } finally {
            count++;
        }
    }

    public List<String> annotated(Object value) {
        @Mark({"local", "variable"}) List<@Mark String> list = new @Mark ArrayList<@Mark("argument") String>();
        try {
            if (value instanceof @Mark String) {
                list.add((@Mark String) value);
            }
        } catch (@Mark RuntimeException e) {
            list.add(e.toString());
        }
        Runnable runnable = () -> {
            synchronized (lock) {
                list.clear();
            }
        };
        runnable.run();
        return list;
    }

    static int reassigned(int n, Object o) {
        while (n > 0) {
            o = n;
            n--;
        }
        return o.hashCode();
    }
}
