package com.acme.bank;

import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Reports for the management, on an executor of its own: threads "reports-1" and "reports-2". */
final class ReportService {
    private static final int THREADS = 2;
    private static final long PERIOD_MILLIS = 200;

    private final List<Account> accounts;
    private final AuditLog auditLog;
    private final ScheduledExecutorService executor;
    private int threads;
    private volatile String latest = "none";

    ReportService(List<Account> accounts, AuditLog auditLog) {
        this.accounts = accounts;
        this.auditLog = auditLog;
        // The executor makes its threads one at a time.
        executor = Executors.newScheduledThreadPool(
                THREADS, body -> new Thread(body, "reports-" + ++threads));
    }

    void start() {
        executor.scheduleAtFixedRate(
                this::reportActivity, PERIOD_MILLIS, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    void stop() throws InterruptedException {
        executor.shutdownNow();
        executor.awaitTermination(10, TimeUnit.SECONDS);
    }

    private void reportActivity() {
        latest = auditLog.entries() + " transfers, richest is account " + richest().number();
    }

    private Account richest() {
        Account richest = accounts.get(0);
        for (Account account : accounts) {
            if (account.balanceCents() > richest.balanceCents()) {
                richest = account;
            }
        }
        return richest;
    }

    String latest() {
        return latest;
    }
}
