import java.util.ArrayDeque;
import java.util.Queue;

/** A hand-written queue, and 8 who take from it; arguments: how they take, how many bring without a pause, and each how many milliseconds otherwise. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        JobQueue jobs = new JobQueue(16);
        Printer printer = new Printer(jobs);
        Meter.threads(8, "printer", arguments[1].equals("inside") ? printer::printInside : printer::print);
        for (int i = 0; i < 16; i++) {
            jobs.put("test page");
        }
        Meter.threads(Integer.parseInt(arguments[2]), "office", () -> jobs.put("letter"));
        int millis = Integer.parseInt(arguments[3]);
        if (millis > 0) {
            Meter.each(millis, "office", () -> jobs.put("letter"));
        }
        Meter.end(seconds, "printer-");
    }
}

class JobQueue {
    private final Queue<String> jobs = new ArrayDeque<>();
    private final int room;

    JobQueue(int room) {
        this.room = room;
    }

    synchronized void put(String job) throws InterruptedException {
        Meter.waits();
        while (jobs.size() >= room) {
            wait();
        }
        Meter.waited();
        jobs.add(job);
        notifyAll();
    }

    synchronized String take() throws InterruptedException {
        while (jobs.isEmpty()) {
            wait();
        }
        notifyAll();
        return jobs.remove();
    }
}

class Printer {
    private final JobQueue jobs;

    Printer(JobQueue jobs) {
        this.jobs = jobs;
    }

    void print() throws InterruptedException {
        print(jobs.take());
    }

    /** Prints while it has the queue. */
    void printInside() throws InterruptedException {
        Meter.waits();
        synchronized (jobs) {
            Meter.waited();
            print(jobs.take());
        }
    }

    private void print(String job) {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }
}
