package tyrion.subjects;

import java.io.OutputStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import tyrion.support.Json;
import tyrion.support.Measurement;
import tyrion.support.Pace;

/**
 * A real subject: bank transfers as in TPC-B, over JDBC, on a database in memory. Establishes what
 * a profiler costs a program with much locking and little contention, in transactions per second of
 * CPU; and that the program's result is still right: the sums of all tables agree.
 *
 * <p>Usage: {@code java tyrion.subjects.JdbcBank URL [THREADS [SECONDS [WARMUP]]]}, defaults 8, 5
 * and 3. Prints one JSON object at the end. URLs: {@code jdbc:hsqldb:mem:bank}, {@code
 * jdbc:h2:mem:bank} and {@code jdbc:derby:memory:bank;create=true}. With the property {@code
 * bank.series=MS} it prints a line each so many ms before that: monotonic ns, and the transactions
 * so far.
 */
public final class JdbcBank {
    /** Where Derby logs, named by a property: otherwise it leaves a derby.log behind. */
    public static final OutputStream NOWHERE = new OutputStream() {
        @Override
        public void write(int one) {}
    };

    private static final int BRANCHES = 16;
    private static final int TELLERS = 10 * BRANCHES;
    private static final int ACCOUNTS = 1000 * BRANCHES;

    /** Class of the SQL states that ask for the transaction to be tried again. */
    private static final String ROLLED_BACK = "40";

    private final String url;
    private final List<Client> clients = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    private JdbcBank(String url) {
        this.url = url;
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            System.err.println("usage: JdbcBank URL [THREADS [SECONDS [WARMUP]]]");
            System.exit(2);
        }
        System.setProperty("derby.stream.error.field", JdbcBank.class.getName() + ".NOWHERE");
        int threadCount = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        double seconds = args.length > 2 ? Double.parseDouble(args[2]) : 5;
        double warmupSeconds = args.length > 3 ? Double.parseDouble(args[3]) : 3;
        System.out.println(new JdbcBank(args[0]).run(threadCount, seconds, warmupSeconds));
    }

    private Json run(int threadCount, double seconds, double warmupSeconds) throws Exception {
        // Open until the end: the database lives as long as a connection to it.
        try (Connection connection = DriverManager.getConnection(url)) {
            createTables(connection);
            startClients(threadCount);
            startSeries(Integer.getInteger("bank.series", 0));
            Measurement measured = Measurement.of(warmupSeconds, seconds, this::total);
            stopping = true;
            for (Thread thread : threads) {
                thread.join();
            }
            boolean balanced = isBalanced(connection);
            // Derby refuses to close a connection with a transaction open, be it a reading one.
            connection.commit();
            return new Json()
                    .put("subject", "JdbcBank")
                    .put("database", connection.getMetaData().getDatabaseProductName()
                            + " " + connection.getMetaData().getDatabaseProductVersion())
                    .put("threads", threadCount)
                    .put("transactions", measured.count)
                    .put("tx_per_second", measured.perSecond())
                    .put("tx_per_cpu_second", measured.perCpuSecond())
                    .put("process_cpu_ns", measured.cpuNanos)
                    .put("wall_ns", measured.wallNanos)
                    .put("total_transactions", total())
                    .put("retries", clients.stream().mapToLong(client -> client.retries).sum())
                    .put("balanced", balanced);
        }
    }

    private static void createTables(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (String table : new String[] {"branches", "tellers", "accounts"}) {
                statement.execute(
                        "create table " + table + " (id int primary key, balance bigint not null)");
            }
            statement.execute(
                    "create table history (account int, teller int, branch int, amount int)");
        }
        fill(connection, "branches", BRANCHES);
        fill(connection, "tellers", TELLERS);
        fill(connection, "accounts", ACCOUNTS);
        connection.commit();
    }

    private static void fill(Connection connection, String table, int rows) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("insert into " + table + " values (?, 0)")) {
            for (int id = 0; id < rows; id++) {
                insert.setInt(1, id);
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private void startClients(int threadCount) throws SQLException {
        for (int i = 1; i <= threadCount; i++) {
            Pace.Turns turns = Pace.turns(i - 1, threadCount);
            Client client = new Client(DriverManager.getConnection(url), i, turns);
            Thread thread = new Thread(client, "client-" + i);
            clients.add(client);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    private void startSeries(int periodMillis) {
        if (periodMillis == 0) {
            return;
        }
        Thread series = new Thread(() -> {
            while (!stopping) {
                System.out.println(System.nanoTime() + " " + total());
                try {
                    Thread.sleep(periodMillis);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }, "series");
        series.setDaemon(true);
        series.start();
    }

    private long total() {
        return clients.stream().mapToLong(client -> client.transactions).sum();
    }

    /** Whether every table has the same sum, and the history one row for each transaction. */
    private boolean isBalanced(Connection connection) throws SQLException {
        long sum = query(connection, "select sum(cast(amount as bigint)) from history");
        return query(connection, "select sum(balance) from accounts") == sum
                && query(connection, "select sum(balance) from tellers") == sum
                && query(connection, "select sum(balance) from branches") == sum
                && query(connection, "select count(*) from history") == total();
    }

    private static long query(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }

    /** A thread with a connection: transaction after transaction. */
    private final class Client implements Runnable {
        private final Connection connection;
        private final SplittableRandom random;
        private final Pace.Turns turns;
        private volatile long transactions;
        private long retries;

        private PreparedStatement updateAccount;
        private PreparedStatement selectAccount;
        private PreparedStatement updateTeller;
        private PreparedStatement updateBranch;
        private PreparedStatement insertHistory;

        Client(Connection connection, int seed, Pace.Turns turns) {
            this.connection = connection;
            this.turns = turns;
            this.random = new SplittableRandom(seed);
        }

        @Override
        public void run() {
            try {
                prepare();
                while (!stopping) {
                    turns.await();
                    transferUntilCommitted();
                    turns.done();
                }
                connection.close();
            } catch (SQLException e) {
                // Without all its clients the measurement means nothing.
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }

        private void prepare() throws SQLException {
            connection.setAutoCommit(false);
            updateAccount = connection.prepareStatement(
                    "update accounts set balance = balance + ? where id = ?");
            selectAccount = connection.prepareStatement(
                    "select balance from accounts where id = ?");
            updateTeller = connection.prepareStatement(
                    "update tellers set balance = balance + ? where id = ?");
            updateBranch = connection.prepareStatement(
                    "update branches set balance = balance + ? where id = ?");
            insertHistory = connection.prepareStatement("insert into history values (?, ?, ?, ?)");
        }

        private void transferUntilCommitted() throws SQLException {
            int account = random.nextInt(ACCOUNTS);
            int teller = random.nextInt(TELLERS);
            int branch = teller % BRANCHES;
            int amount = random.nextInt(-99_999, 100_000);
            while (true) {
                try {
                    transfer(account, teller, branch, amount);
                    connection.commit();
                    transactions++;
                    return;
                } catch (SQLException e) {
                    if (e.getSQLState() == null || !e.getSQLState().startsWith(ROLLED_BACK)) {
                        throw e;
                    }
                    connection.rollback();
                    retries++;
                }
            }
        }

        private void transfer(int account, int teller, int branch, int amount) throws SQLException {
            update(updateAccount, amount, account);
            readBalance(account);
            update(updateTeller, amount, teller);
            update(updateBranch, amount, branch);
            insertHistory.setInt(1, account);
            insertHistory.setInt(2, teller);
            insertHistory.setInt(3, branch);
            insertHistory.setInt(4, amount);
            insertHistory.executeUpdate();
        }

        private void update(PreparedStatement update, int amount, int id) throws SQLException {
            update.setInt(1, amount);
            update.setInt(2, id);
            if (update.executeUpdate() != 1) {
                throw new SQLException("no row " + id);
            }
        }

        private void readBalance(int account) throws SQLException {
            selectAccount.setInt(1, account);
            try (ResultSet balance = selectAccount.executeQuery()) {
                balance.next();
                balance.getLong(1);
            }
        }
    }
}
