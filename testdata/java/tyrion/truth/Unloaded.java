package tyrion.truth;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code unloaded [CLASSES [KIND]]}: classes come and go while one thread takes a lock of each of
 * them, at one place: of the first one once, of the second one twice and so on. Each has a class
 * loader of its own, which is gone before the next one comes, so that the JVM puts the next class
 * where the last one was. KIND is {@code block} or {@code array} (of such a class).
 */
final class Unloaded implements Scenario {
    private static final int PATIENCE = 200;

    /** How many classes were not unloaded. */
    private int left;

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        int classes = arguments.number(0, 60);
        String kind = arguments.text(1, "block");
        List<Json> taken = new ArrayList<>();
        CountDownLatch done = new CountDownLatch(1);
        Runnable body =
                () -> {
                    for (int nth = 1; nth <= classes; nth++) {
                        String name = takeAndForget(kind, nth);
                        taken.add(new Json().put("class", name).put("acquisitions", nth));
                    }
                    done.countDown();
                };
        if (Boolean.getBoolean("truth.virtual")) {
            VirtualThreads.require();
            VirtualThreads.named("taker").newThread(body).start();
        } else {
            Threads.start("taker", body);
        }
        Threads.await(done);
        report.put("class", Unloaded.class.getName())
                .put("classes", taken)
                .put("not_unloaded", left)
                .put("acquisitions", classes * (classes + 1) / 2)
                .put("reentrant", 0)
                .put("failed", 0);
    }

    private String takeAndForget(String kind, int nth) {
        List<WeakReference<ClassLoader>> loader = new ArrayList<>();
        String name = make(kind, nth, loader);
        for (int i = 0; i < PATIENCE && loader.get(0).get() != null; i++) {
            System.gc();
        }
        left += loader.get(0).get() == null ? 0 : 1;
        return name;
    }

    /** In a frame of its own, which keeps nothing of the class when it returns. */
    private static String make(String kind, int nth, List<WeakReference<ClassLoader>> loader) {
        try {
            Class<?> type = new Own().define(Gen00.class, nth);
            loader.add(new WeakReference<>(type.getClassLoader()));
            Object made =
                    kind.equals("array")
                            ? Array.newInstance(type, 1)
                            : type.getDeclaredConstructor().newInstance();
            take(made, nth);
            return made.getClass().getTypeName();
        } catch (ReflectiveOperationException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void take(Object lock, int times) {
        for (int i = 0; i < times; i++) {
            synchronized (lock) {
                Older.onSpinWait();
            }
        }
    }

    /** What classes are made from, by another number in their names. */
    public static class Gen00 {
        public Gen00() {}
    }

    /** A loader for one class. */
    private static final class Own extends ClassLoader {
        Own() {
            super(Unloaded.class.getClassLoader());
        }

        Class<?> define(Class<?> template, int nth) throws IOException {
            String name = template.getName();
            String file = "/" + name.replace('.', '/') + ".class";
            try (InputStream in = template.getResourceAsStream(file)) {
                byte[] bytes = Older.readAll(in);
                String digits = String.format("%02d", nth);
                byte[] part = name.substring(name.indexOf('$')).getBytes(StandardCharsets.US_ASCII);
                for (int at = 0; at + part.length <= bytes.length; at++) {
                    if (isAt(bytes, at, part)) {
                        bytes[at + part.length - 2] = (byte) digits.charAt(0);
                        bytes[at + part.length - 1] = (byte) digits.charAt(1);
                    }
                }
                return defineClass(name.replace("00", digits), bytes, 0, bytes.length);
            }
        }

        private static boolean isAt(byte[] bytes, int at, byte[] part) {
            for (int i = 0; i < part.length; i++) {
                if (bytes[at + i] != part[i]) {
                    return false;
                }
            }
            return true;
        }
    }
}
