package com.acme.bank;

/** Tells the audit log what happened. */
final class AuditTrail {
    private final AuditLog log;

    AuditTrail(AuditLog log) {
        this.log = log;
    }

    void transferred(Transfer transfer, long bookedCents) {
        log.append(
                Thread.currentThread().getName(),
                transfer.from().number(),
                transfer.to().number(),
                bookedCents);
    }
}
