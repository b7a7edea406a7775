package com.acme.bank;

import java.util.Locale;

/**
 * The demo: a small bank with one lock too many. Establishes what a lock profile should look like
 * when a person can name the culprit at once: eight tellers transfer money, and every transfer
 * waits to write one line into the {@link AuditLog}.
 *
 * <p>Usage: {@code java com.acme.bank.BankServer [--seconds N] [--tellers N]}. Prints three lines.
 */
public final class BankServer {
    private int seconds = 8;
    private int tellers = 8;

    private BankServer() {}

    public static void main(String[] args) throws InterruptedException {
        BankServer server = new BankServer();
        server.parse(args);
        server.serve();
    }

    private void parse(String[] args) {
        for (int i = 0; i + 1 < args.length; i += 2) {
            int value = Integer.parseInt(args[i + 1]);
            switch (args[i]) {
                case "--seconds":
                    seconds = value;
                    break;
                case "--tellers":
                    tellers = value;
                    break;
                default:
                    usage();
            }
        }
        if (args.length % 2 != 0) {
            usage();
        }
    }

    private static void usage() {
        System.err.println("usage: BankServer [--seconds N] [--tellers N]");
        System.exit(2);
    }

    private void serve() throws InterruptedException {
        Bank bank = new Bank(tellers);
        long moneyBefore = bank.totalMoneyCents();
        bank.open();
        Thread.sleep(seconds * 1000L);
        bank.close();
        summarize(bank, moneyBefore);
    }

    private void summarize(Bank bank, long moneyBefore) {
        long transfers = bank.transfers();
        System.out.printf(
                Locale.ROOT,
                "%d tellers, %d s: %d transfers, %.0f transfers/s%n",
                tellers, seconds, transfers, transfers / (double) seconds);
        System.out.printf(
                Locale.ROOT,
                "audit log: %d entries, sealed %016x; latest report: %s%n",
                bank.auditEntries(), bank.auditSeal(), bank.latestReport());
        System.out.printf(
                Locale.ROOT,
                "tellers blocked %d times on monitors, the books %s%n",
                bank.timesBlocked(),
                bank.totalMoneyCents() == moneyBefore ? "balance" : "DO NOT BALANCE");
    }
}
