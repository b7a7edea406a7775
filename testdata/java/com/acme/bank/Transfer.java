package com.acme.bank;

/** What a customer asks for: money from one account to another. */
final class Transfer {
    private final Account from;
    private final Account to;
    private final long cents;
    private final String currency;

    Transfer(Account from, Account to, long cents, String currency) {
        this.from = from;
        this.to = to;
        this.cents = cents;
        this.currency = currency;
    }

    Account from() {
        return from;
    }

    Account to() {
        return to;
    }

    long cents() {
        return cents;
    }

    String currency() {
        return currency;
    }
}
