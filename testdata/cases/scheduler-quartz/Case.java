import java.util.Properties;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/** Quartz with 5 workers; arguments: each how many milliseconds a job of 50 milliseconds is due. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        Properties properties = new Properties();
        properties.setProperty("org.quartz.scheduler.instanceName", "backups");
        properties.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
        properties.setProperty("org.quartz.threadPool.class", "org.quartz.simpl.SimpleThreadPool");
        properties.setProperty("org.quartz.threadPool.threadCount", "5");
        properties.setProperty("org.quartz.jobStore.misfireThreshold", "60000");
        Scheduler scheduler = new StdSchedulerFactory(properties).getScheduler();
        schedule(scheduler, "nightly", 3_600_000);
        scheduler.start();
        int millis = Integer.parseInt(arguments[1]);
        if (millis > 0) {
            schedule(scheduler, "backup", millis);
        }
        Meter.end(seconds, "backups_Worker");
    }

    private static void schedule(Scheduler scheduler, String name, long millis) throws SchedulerException {
        scheduler.scheduleJob(JobBuilder.newJob(BackupJob.class).withIdentity(name).build(),
                TriggerBuilder.newTrigger().withIdentity(name).startNow().withSchedule(SimpleScheduleBuilder.simpleSchedule()
                        .withIntervalInMilliseconds(millis).repeatForever()
                        .withMisfireHandlingInstructionIgnoreMisfires()).build());
    }

    public static class BackupJob implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            Meter.handles();
            Meter.pause(50);
            Meter.handled();
        }
    }
}
