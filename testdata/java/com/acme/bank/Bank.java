package com.acme.bank;

import java.util.ArrayList;
import java.util.List;

/** The bank: its accounts, its services and the threads that work in it. */
final class Bank {
    private static final int ACCOUNTS = 200;
    private static final int CONNECTIONS = 6;
    private static final int PRINTERS = 2;
    private static final long OPENING_BALANCE_CENTS = 1_000_000;

    private final List<Account> accounts = new ArrayList<>();
    private final AuditLog auditLog = new AuditLog();
    private final RateCache rates = new RateCache();
    private final StatementQueue statements = new StatementQueue();
    private final ReportService reports;
    private final List<Teller> tellers = new ArrayList<>();
    private final List<Thread> tellerThreads = new ArrayList<>();
    private final List<Thread> backOffice = new ArrayList<>();

    Bank(int tellerCount) {
        for (int number = 0; number < ACCOUNTS; number++) {
            accounts.add(new Account(number, OPENING_BALANCE_CENTS));
        }
        reports = new ReportService(accounts, auditLog);
        TransferService transfers = new TransferService(
                new TransactionTemplate(new ConnectionPool(CONNECTIONS)),
                new AuditTrail(auditLog),
                rates,
                statements);
        FrontDesk desk = new FrontDesk(transfers);
        for (int i = 1; i <= tellerCount; i++) {
            Teller teller = new Teller(desk, accounts, i);
            tellers.add(teller);
            tellerThreads.add(new Thread(teller, "teller-" + i));
        }
        for (int i = 1; i <= PRINTERS; i++) {
            backOffice.add(new Thread(new StatementPrinter(statements), "printer-" + i));
        }
        backOffice.add(new Thread(new RateRefresher(rates), "rate-refresher"));
    }

    void open() {
        reports.start();
        backOffice.forEach(Thread::start);
        tellerThreads.forEach(Thread::start);
    }

    /** Sends everybody home and waits until they have gone. */
    void close() throws InterruptedException {
        tellers.forEach(Teller::goHome);
        for (Thread thread : tellerThreads) {
            thread.join();
        }
        reports.stop();
        for (Thread thread : backOffice) {
            thread.interrupt();
            thread.join();
        }
    }

    long transfers() {
        return tellers.stream().mapToLong(Teller::served).sum();
    }

    long timesBlocked() {
        return tellers.stream().mapToLong(Teller::timesBlocked).sum();
    }

    long auditEntries() {
        return auditLog.entries();
    }

    long auditSeal() {
        return auditLog.seal();
    }

    String latestReport() {
        return reports.latest();
    }

    long totalMoneyCents() {
        return accounts.stream().mapToLong(Account::balanceCents).sum();
    }
}
