package com.acme.bank;

import java.util.function.Consumer;

/** Runs work with a connection of the pool, and gives the connection back. */
final class TransactionTemplate {
    private final ConnectionPool pool;

    TransactionTemplate(ConnectionPool pool) {
        this.pool = pool;
    }

    void execute(Consumer<ConnectionPool.Connection> work) {
        ConnectionPool.Connection connection = pool.borrow();
        try {
            work.accept(connection);
        } finally {
            pool.giveBack(connection);
        }
    }
}
