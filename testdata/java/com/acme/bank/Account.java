package com.acme.bank;

/**
 * An account. Its monitor guards its balance; there are many, so they are hardly ever contended.
 */
final class Account {
    private final int number;
    private long balanceCents;

    Account(int number, long balanceCents) {
        this.number = number;
        this.balanceCents = balanceCents;
    }

    int number() {
        return number;
    }

    synchronized long balanceCents() {
        return balanceCents;
    }

    synchronized void deposit(long cents) {
        balanceCents += cents;
    }

    synchronized void withdraw(long cents) {
        balanceCents -= cents;
    }
}
