package com.acme.bank;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Accounts whose statement is to be printed. */
final class StatementQueue {
    private final BlockingQueue<Account> accounts = new LinkedBlockingQueue<>();

    void request(Account account) {
        accounts.add(account);
    }

    /** Waits for work. */
    Account next() throws InterruptedException {
        return accounts.take();
    }
}
