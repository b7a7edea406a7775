package com.acme.bank;

import java.util.Locale;

/**
 * Prints statements, until interrupted. Has little to do: mostly it waits for work, not for a lock.
 */
final class StatementPrinter implements Runnable {
    private final StatementQueue queue;
    private final StringBuilder paper = new StringBuilder();

    StatementPrinter(StatementQueue queue) {
        this.queue = queue;
    }

    @Override
    public void run() {
        try {
            while (true) {
                print(queue.next());
            }
        } catch (InterruptedException e) {
            // The bank closes.
        }
    }

    private void print(Account account) {
        long cents = account.balanceCents();
        paper.append(String.format(
                Locale.ROOT,
                "account %04d: %d.%02d%n",
                account.number(), cents / 100, cents % 100));
    }
}
