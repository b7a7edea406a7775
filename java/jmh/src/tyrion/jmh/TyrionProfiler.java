package tyrion.jmh;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;
import org.openjdk.jmh.results.TextResult;
import org.openjdk.jmh.runner.IterationType;
import tyrion.agent.NotLoadedException;
import tyrion.agent.Tyrion;

/**
 * Records the measured iterations of each fork, and adds what locks cost to its results: {@code
 * -prof tyrion:mode=trace;dir=logs}.
 *
 * <p>In the fork it loads the agent before the first iteration, so that what is warmed up is what
 * is measured. In JMH's own JVM it has {@code tyrion report} read the fork's log.
 */
@SuppressWarnings("rawtypes") // JMH's own types are.
public class TyrionProfiler implements InternalProfiler, ExternalProfiler {
    /** Tells the fork where to record. */
    private static final String LOG = "tyrion.jmh.log";

    /** JMH's name for threads that run a benchmark; what others lose is not the benchmark's. */
    private static final String WORKERS = "-jmh-worker-[0-9]+$";

    /** What the log of the warm-up is called, in addition. */
    private static final String WARM_UP = ".warm-up";

    private final Settings settings;

    /** Whether the agent was loaded in this fork, and whether that has been tried. */
    private boolean isLoaded;

    private boolean isTried;

    /** Whether the log of measured iterations has begun. */
    private boolean isMeasured;

    /**
     * With options.
     *
     * @param options those of the agent, and {@code dir} for the logs, and {@code tyrion}, the
     *     command that reads them; separated by semicolons
     */
    public TyrionProfiler(String options) {
        settings = Settings.of(options);
    }

    @Override
    public String getDescription() {
        return "Tyrion: lock wait and contended acquisitions per operation, share lost, worst lock";
    }

    @Override
    public Collection<String> addJVMInvokeOptions(BenchmarkParams params) {
        return Collections.emptyList();
    }

    @Override
    public Collection<String> addJVMOptions(BenchmarkParams params) {
        List<String> options = new ArrayList<>();
        options.add("-D" + LOG + "=" + settings.log(params));
        String version = params.getJdkVersion();
        // It hides the warning of agents that are loaded late, and is not known before Java 9.
        if (version != null && !version.startsWith("1.")) {
            options.add("-XX:+EnableDynamicAgentLoading");
        }
        return options;
    }

    @Override
    public void beforeTrial(BenchmarkParams params) {
        if (!settings.folder().isDirectory() && !settings.folder().mkdirs()) {
            System.err.println("tyrion: " + settings.folder() + " cannot be made");
        }
    }

    @Override
    public void beforeIteration(BenchmarkParams params, IterationParams iteration) {
        String log = System.getProperty(LOG);
        if (log == null) {
            if (!isTried) {
                System.out.println("tyrion: only forks are recorded (-f 1)");
            }
            isTried = true;
            return;
        }
        if (!isTried) {
            isTried = true;
            isLoaded = load(settings.agent("file=" + Settings.escaped(log + WARM_UP)));
        }
        if (!isLoaded || iteration.getType() != IterationType.MEASUREMENT) {
            return;
        }
        if (isMeasured) {
            // The agent goes back to its usual mode if it is told none.
            isLoaded = load(settings.agent("command=start"));
            return;
        }
        // A log of its own, in which there is nothing of the warm-up.
        isMeasured = true;
        isLoaded = load(settings.agent("file=" + Settings.escaped(log) + ",named=true"));
        File warmUp = new File(Settings.file(log + WARM_UP, pid()));
        if (isLoaded && !warmUp.delete()) {
            System.out.println("tyrion: " + warmUp + " stays");
        }
    }

    @Override
    public Collection<? extends Result> afterIteration(
            BenchmarkParams params, IterationParams iteration, IterationResult result) {
        if (isLoaded && iteration.getType() == IterationType.MEASUREMENT) {
            isLoaded = load("command=stop");
        }
        return Collections.emptyList();
    }

    private static boolean load(String options) {
        try {
            Tyrion.loadOrFail(options);
            return true;
        } catch (NotLoadedException | LinkageError e) {
            System.out.println("tyrion: " + e.getMessage() + "; nothing is recorded");
            return false;
        }
    }

    private static long pid() {
        try {
            return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    @Override
    public Collection<? extends Result> afterTrial(
            BenchmarkResult result, long pid, File stdout, File stderr) {
        String log = Settings.file(settings.log(result.getParams()), pid);
        if (!new File(log).isFile()) {
            System.out.println("tyrion: no " + log);
            return Collections.emptyList();
        }
        long operations = 0;
        for (IterationResult iteration : result.getIterationResults()) {
            // All that were done while it was recorded, those before and after the measured time
            // of an iteration, too.
            operations += iteration.getMetadata().getAllOps();
        }
        try {
            Verdict all = Verdict.of(settings.command(), log, "");
            Verdict workers = Verdict.of(settings.command(), log, WORKERS);
            return results(all, workers, Math.max(operations, 1), log);
        } catch (IOException e) {
            System.out.println("tyrion: " + e.getMessage() + "; the log is " + log);
            return Collections.emptyList();
        }
    }

    private static Collection<? extends Result> results(
            Verdict verdict, Verdict workers, long operations, String log) {
        List<Result> results = new ArrayList<>();
        results.add(scalar("tyrion.wait", verdict.waitNanos() / operations, "ns/op"));
        results.add(scalar("tyrion.contended", verdict.contended() / operations, "#/op"));
        results.add(scalar("tyrion.lost", workers.lostShare() * 100, "%"));
        if (!verdict.lock().isEmpty()) {
            String label = "tyrion.lock." + verdict.lock();
            results.add(scalar(label, verdict.lockShare() * 100, "%"));
        }
        String text = String.join(System.lineSeparator(), verdict.lines());
        results.add(new TextResult(text + System.lineSeparator() + log, "tyrion"));
        return results;
    }

    private static Result scalar(String label, double value, String unit) {
        return new ScalarResult(label, value, unit, AggregationPolicy.AVG);
    }

    @Override
    public boolean allowPrintOut() {
        return true;
    }

    @Override
    public boolean allowPrintErr() {
        return true;
    }
}
