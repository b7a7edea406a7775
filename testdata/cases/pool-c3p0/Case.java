import com.mchange.v2.c3p0.ComboPooledDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** c3p0 with 3 helper threads; arguments: how many connections, how many threads use them, and for which work. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int connections = Integer.parseInt(arguments[1]);
        Meter.start(seconds);
        ComboPooledDataSource pool = new ComboPooledDataSource();
        pool.setDriverClass("org.h2.Driver");
        pool.setJdbcUrl("jdbc:h2:mem:bakery");
        pool.setInitialPoolSize(connections);
        pool.setMinPoolSize(connections);
        pool.setMaxPoolSize(connections);
        pool.setNumHelperThreads(3);
        pool.setIdleConnectionTestPeriod(1);
        pool.setCheckoutTimeout(arguments[3].equals("print") ? 500 : 0);
        Bakery bakery = new Bakery(pool);
        for (int i = 0; i < 20; i++) {
            bakery.sell();
        }
        if (arguments[3].equals("print")) {
            for (int i = 0; i < connections; i++) {
                bakery.print();
            }
        }
        Meter.threads(Integer.parseInt(arguments[2]), "counter", arguments[3].equals("count") ? bakery::count : bakery::sell);
        Meter.end(seconds, "C3P0PooledConnectionPoolManager");
    }
}

class Bakery {
    private final ComboPooledDataSource pool;
    private final Shelf shelf = new Shelf();

    Bakery(ComboPooledDataSource pool) {
        this.pool = pool;
    }

    void sell() throws SQLException {
        Meter.waits();
        try (Connection connection = pool.getConnection()) {
            Meter.waited();
            Meter.handles();
            query(connection);
            Meter.pause(20);
            Meter.handled();
        } catch (SQLException late) {
            Meter.waited();
        }
    }

    /** Forgets to close. */
    void print() throws SQLException {
        query(pool.getConnection());
    }

    /** One at a time counts what is on the shelf. */
    void count() throws SQLException {
        Meter.waits();
        synchronized (shelf) {
            Meter.waited();
            try (Connection connection = pool.getConnection()) {
                Meter.handles();
                query(connection);
                shelf.count();
                Meter.handled();
            }
        }
    }

    private void query(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT 1")) {
            rows.next();
        }
    }
}

class Shelf {
    void count() {
        Meter.pause(20);
    }
}
