package com.acme.bank;

/** The bank's business: books a transfer, audits it and now and then sends a statement. */
final class TransferService {
    private static final long STATEMENT_OVER_CENTS = 49_900;

    private final TransactionTemplate transactions;
    private final AuditTrail audit;
    private final RateCache rates;
    private final StatementQueue statements;

    TransferService(
            TransactionTemplate transactions,
            AuditTrail audit,
            RateCache rates,
            StatementQueue statements) {
        this.transactions = transactions;
        this.audit = audit;
        this.rates = rates;
        this.statements = statements;
    }

    void transfer(Transfer transfer) {
        long cents = rates.convert(transfer.cents(), transfer.currency());
        transactions.execute(connection -> book(connection, transfer, cents));
        audit.transferred(transfer, cents);
        if (transfer.cents() > STATEMENT_OVER_CENTS) {
            statements.request(transfer.from());
        }
    }

    /**
     * Moves the money. Both accounts are locked, the lower number first, so there is no deadlock.
     */
    private void book(ConnectionPool.Connection connection, Transfer transfer, long cents) {
        connection.roundTrip();
        boolean ascending = transfer.from().number() < transfer.to().number();
        Account first = ascending ? transfer.from() : transfer.to();
        Account second = ascending ? transfer.to() : transfer.from();
        synchronized (first) {
            synchronized (second) {
                transfer.from().withdraw(cents);
                transfer.to().deposit(cents);
            }
        }
    }
}
