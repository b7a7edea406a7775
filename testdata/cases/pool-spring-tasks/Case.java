import java.util.concurrent.Future;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Spring's executor with 6 threads, and its scheduler with 3; arguments: what is done, and each how many milliseconds, or how many wait for it. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Tasks.class);
        ThreadPoolTaskExecutor executor = context.getBean(ThreadPoolTaskExecutor.class);
        Parcels parcels = context.getBean(Parcels.class);
        for (int i = 0; i < 30; i++) {
            executor.execute(parcels::pack);
        }
        Meter.pause(200);
        if (arguments[1].equals("find")) {
            parcels.busy = true;
            for (int i = 0; i < number; i++) {
                executor.execute(() -> findAgain(executor, parcels));
            }
        } else if (arguments[1].equals("desks")) {
            Meter.threads(number, "desk", () -> packAndWait(executor, parcels));
        } else if (number > 0) {
            Meter.each(number, "customers", () -> executor.execute(parcels::pack));
        }
        Meter.end(seconds, "task-");
    }

    private static void packAndWait(ThreadPoolTaskExecutor executor, Parcels parcels) throws Exception {
        Future<?> packed = executor.submit(parcels::pack);
        Meter.waits();
        packed.get();
        Meter.waited();
    }

    private static void findAgain(ThreadPoolTaskExecutor executor, Parcels parcels) {
        parcels.find();
        executor.execute(() -> findAgain(executor, parcels));
    }
}

@Configuration(proxyBeanMethods = false)
@EnableScheduling
class Tasks {
    @Bean
    ThreadPoolTaskExecutor executor() {
        ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
        executor.setThreadNamePrefix("task-");
        executor.setCorePoolSize(6);
        executor.setMaxPoolSize(6);
        return executor;
    }

    @Bean
    ThreadPoolTaskScheduler scheduler() {
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.setThreadNamePrefix("scheduling-");
        scheduler.setPoolSize(3);
        return scheduler;
    }

    @Bean
    Parcels parcels() {
        return new Parcels();
    }
}

class Parcels {
    private final Register register = new Register();
    volatile boolean busy;

    void pack() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void find() {
        Meter.handles();
        Meter.waits();
        register.read();
        Meter.handled();
        Meter.pause(5);
    }

    @Scheduled(fixedDelay = 500)
    void tidy() {
        Meter.pause(1);
    }

    /** While nobody sends parcels, there is nothing to write. */
    @Scheduled(fixedDelay = 10)
    void write() {
        if (busy) {
            register.write();
        }
    }
}

class Register {
    private long read, written;

    synchronized void read() {
        Meter.waited();
        read++;
    }

    synchronized void write() {
        Meter.pause(50);
        written++;
    }
}
