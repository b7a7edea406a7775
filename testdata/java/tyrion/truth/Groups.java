package tyrion.truth;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.ReentrantLock;
import tyrion.api.Tyrion;
import tyrion.support.Json;
import tyrion.support.Older;

/**
 * {@code groups [virtual]}: thread "clerk" calls a bean whose methods are groups, as a container
 * would make them: by a proxy. It waits within them, between them, in a group within one, and where
 * groups are left in odd ways. Reported are the waits in their order: the group that each was in,
 * and how long it took.
 */
final class Groups implements Scenario {
    private static final long WAIT_MILLIS = 40;

    private final List<String> groups = new ArrayList<>();
    private final List<Long> waits = new ArrayList<>();

    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        boolean isVirtual = arguments.text(0, "").equals("virtual");
        if (isVirtual) {
            VirtualThreads.require();
        }
        ThreadFactory factory =
                isVirtual ? VirtualThreads.named("clerk") : Threads.named("clerk");
        Thread clerk = factory.newThread(this::work);
        clerk.start();
        clerk.join();
        report.put("present", Tyrion.present()).put("groups", groups).put("waits_ns", waits);
    }

    @SuppressWarnings("try")
    private void work() {
        wait("");
        Orders orders = grouped(new OrderService());
        orders.place();
        orders.cancel();
        wait("");
        leaveInOddWays();
        for (String name : new String[] {"", null}) {
            try (Tyrion.Group none = Tyrion.group(name)) {
                none.close();
                wait("");
            }
        }
        String name = Older.repeat("x", 4095);
        try (Tyrion.Group group = Tyrion.group(name + "\u00e4 is cut")) {
            wait(name);
            group.close();
        }
    }

    /** Out of order, on another thread, and twice. */
    @SuppressWarnings("try")
    private void leaveInOddWays() {
        String name = "Gr\u00f6\u00dfe \ud83d\ude00 \0 \\ \"";
        Tyrion.Group outer = Tyrion.group("outer");
        Tyrion.Group inner = Tyrion.group(name);
        outer.close();
        wait(name);
        Threads.join(Threads.start("closer", inner::close));
        wait("");
        try (Tyrion.Group another = Tyrion.group("another")) {
            inner.close();
            outer.close();
            wait("another");
        }
    }

    private void wait(String group) {
        groups.add(group);
        waits.add(Delay.atMonitor(new Object(), WAIT_MILLIS));
    }

    /** What the container knows of the bean. */
    interface Orders {
        void place();

        void cancel();
    }

    /** The bean, which knows of no profiler but for one group. */
    private final class OrderService implements Orders {
        private final ReentrantLock customers = new ReentrantLock();

        @Override
        @SuppressWarnings("try")
        public void place() {
            Groups.this.wait("Orders.place");
            try (Tyrion.Group group = Tyrion.group("load customer")) {
                groups.add("load customer");
                waits.add(Delay.atLock(customers, WAIT_MILLIS));
            }
            Groups.this.wait("Orders.place");
        }

        @Override
        public void cancel() {
            Groups.this.wait("Orders.cancel");
        }
    }

    /** The bean with each of its methods a group. */
    @SuppressWarnings("try")
    private static Orders grouped(Orders bean) {
        Class<?>[] interfaces = {Orders.class};
        return (Orders) Proxy.newProxyInstance(
                Groups.class.getClassLoader(),
                interfaces,
                (proxy, method, arguments) -> {
                    try (Tyrion.Group group = Tyrion.group("Orders." + method.getName())) {
                        return method.invoke(bean, arguments);
                    }
                });
    }
}
