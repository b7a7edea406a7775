import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.apache.commons.dbcp2.BasicDataSource;

/** DBCP with 6 connections and an evictor; arguments: how many threads use them, and for which work. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        BasicDataSource pool = new BasicDataSource();
        pool.setUrl("jdbc:h2:mem:museum");
        pool.setInitialSize(6);
        pool.setMaxTotal(6);
        pool.setMaxIdle(6);
        pool.setDurationBetweenEvictionRuns(Duration.ofMillis(200));
        pool.setTestWhileIdle(true);
        Tickets tickets = new Tickets(pool);
        tickets.sell();
        Meter.threads(Integer.parseInt(arguments[1]), "desk", arguments[2].equals("sell") ? tickets::sell : tickets::report);
        Meter.end(seconds, "desk-");
    }
}

class Tickets {
    private final BasicDataSource pool;
    private final ReportFile file = new ReportFile();

    Tickets(BasicDataSource pool) {
        this.pool = pool;
    }

    void sell() throws SQLException {
        Meter.waits();
        try (Connection connection = pool.getConnection()) {
            Meter.waited();
            Meter.handles();
            try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT 1")) {
                rows.next();
            }
            Meter.pause(20);
            Meter.handled();
        }
    }

    /** One report at a time, so that they can use one file. */
    void report() throws SQLException {
        Meter.waits();
        synchronized (file) {
            Meter.waited();
            try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT 1")) {
                Meter.handles();
                rows.next();
                file.write();
                Meter.handled();
            }
        }
    }
}

class ReportFile {
    void write() {
        Meter.pause(20);
    }
}
