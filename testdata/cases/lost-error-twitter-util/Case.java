import com.twitter.util.Await;
import com.twitter.util.Future;
import com.twitter.util.FuturePool$;
import com.twitter.util.ExecutorServiceFuturePool;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import scala.runtime.AbstractFunction0;

/** Reports are rendered in a future pool; a class of the renderer is missing, and nobody is told. */
public class Case {
    static final AtomicInteger errors = new AtomicInteger();
    static final AtomicInteger rendered = new AtomicInteger();
    static final AtomicInteger failed = new AtomicInteger();
    static final AtomicInteger numbers = new AtomicInteger();

    static final class Render extends AbstractFunction0<String> {
        final int report;

        Render(int report) {
            this.report = report;
        }

        @Override
        public String apply() {
            if (report % 3 == 2) {
                errors.incrementAndGet();
                throw new NoClassDefFoundError("com/shop/reports/PdfFonts");
            }
            return "report " + report;
        }
    }

    static String report(ExecutorServiceFuturePool pool, int number) throws Exception {
        Future<String> future = pool.apply(new Render(number));
        return Await.result(future);
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> { }); // as the log is rotated away
        ExecutorService executor = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "render-" + numbers.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
        ExecutorServiceFuturePool pool = FuturePool$.MODULE$.apply(executor);
        for (int i = 0; i < 6; i++) {
            int first = i;
            Thread thread = new Thread(() -> {
                try {
                    for (int report = first; ; report += 7) {
                        try {
                            report(pool, report);
                            rendered.incrementAndGet();
                        } catch (java.util.concurrent.ExecutionException e) {
                            failed.incrementAndGet();
                        }
                        Thread.sleep(20);
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }, "request-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(2000);
        int early = rendered.get();
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        System.out.println("proof: errors=" + errors.get() + " told_of_errors=" + failed.get() + " rendered=" + rendered.get() + " in_the_first_2_s=" + early);
        System.out.println("proof: " + executor);
        Runtime.getRuntime().halt(0);
    }
}
