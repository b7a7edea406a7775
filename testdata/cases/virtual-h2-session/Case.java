import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.LongAdder;

/** Virtual threads share one connection of H2; its session is a monitor that each statement holds. */
public class Case {
    static final LongAdder statements = new LongAdder();
    static final LongAdder waitedNanos = new LongAdder();

    /** SLEEP(ms) of the database, in place of a slow query. */
    public static int sleep(int milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
        return milliseconds;
    }

    static void findOrder(PreparedStatement statement) throws Exception {
        long start = System.nanoTime();
        try (ResultSet result = statement.executeQuery()) {
            result.next();
        }
        waitedNanos.add(System.nanoTime() - start);
        statements.increment();
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Connection connection = DriverManager.getConnection("jdbc:h2:mem:shop");
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE ALIAS SLEEP FOR 'Case.sleep'");
        }
        try (PreparedStatement warm = connection.prepareStatement("SELECT SLEEP(1)")) {
            findOrder(warm);
        }
        waitedNanos.reset();
        statements.reset();
        ExecutorService requests = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("request-", 0).factory());
        int threads = 12;
        for (int i = 0; i < threads; i++) {
            PreparedStatement statement = connection.prepareStatement("SELECT SLEEP(20)");
            requests.submit(() -> {
                while (true) {
                    findOrder(statement);
                }
            });
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: statements=" + statements.sum() + " mean_ms=" + waitedNanos.sum() / 1e6 / statements.sum() + " statement_ms=20");
        System.out.println("proof: in_statements_s=" + waitedNanos.sum() / 1e9 + " of_s=" + threads * measured);
        Runtime.getRuntime().halt(0);
    }
}
