package com.acme.bank;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.Random;

/** A teller: serves one customer after the other, until sent home. Same seed, same customers. */
final class Teller implements Runnable {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final FrontDesk desk;
    private final List<Account> accounts;
    private final Random customers;
    private volatile boolean working = true;
    private long served;
    private long timesBlocked;

    Teller(FrontDesk desk, List<Account> accounts, int seed) {
        this.desk = desk;
        this.accounts = accounts;
        this.customers = new Random(seed);
    }

    @Override
    public void run() {
        while (working) {
            serveCustomer();
        }
        timesBlocked = THREADS.getThreadInfo(Thread.currentThread().getId()).getBlockedCount();
    }

    private void serveCustomer() {
        desk.accept(nextWish());
        served++;
    }

    private Transfer nextWish() {
        int from = customers.nextInt(accounts.size());
        int to = (from + 1 + customers.nextInt(accounts.size() - 1)) % accounts.size();
        long cents = 100 + customers.nextInt(50_000);
        String currency = RateCache.CURRENCIES.get(customers.nextInt(RateCache.CURRENCIES.size()));
        return new Transfer(accounts.get(from), accounts.get(to), cents, currency);
    }

    void goHome() {
        working = false;
    }

    /** How many customers were served, once the thread has ended. */
    long served() {
        return served;
    }

    /** How often the thread blocked on a monitor, once it has ended. */
    long timesBlocked() {
        return timesBlocked;
    }
}
