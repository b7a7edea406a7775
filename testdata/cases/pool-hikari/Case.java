import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;

/** HikariCP with connections to a database in memory; arguments: how many connections, how many threads use them, and for which work. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int connections = Integer.parseInt(arguments[1]);
        Meter.start(seconds);
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:library");
        config.setMaximumPoolSize(connections);
        config.setConnectionTimeout(arguments[3].equals("export") ? 500 : 20_000);
        Library library = new Library(new HikariDataSource(config));
        library.lend();
        if (arguments[3].equals("export")) {
            for (int i = 0; i < connections; i++) {
                library.export();
            }
        }
        Meter.threads(Integer.parseInt(arguments[2]), "counter", library::lend);
        Meter.end(seconds, "counter-");
    }
}

class Library {
    private final HikariDataSource pool;

    Library(HikariDataSource pool) {
        this.pool = pool;
    }

    /** What a reader takes home. */
    void lend() throws SQLException {
        Meter.waits();
        try (Connection connection = pool.getConnection()) {
            Meter.waited();
            Meter.handles();
            query(connection);
            Meter.pause(20);
            Meter.handled();
        } catch (SQLTransientConnectionException late) {
            Meter.waited();
        }
    }

    /** Forgets to close. */
    void export() throws SQLException {
        query(pool.getConnection());
    }

    private void query(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT 1")) {
            rows.next();
        }
    }
}
