package com.acme.bank;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Exchange rates: read by every transfer, rewritten now and then by the {@link RateRefresher}. */
final class RateCache {
    static final List<String> CURRENCIES =
            Collections.unmodifiableList(Arrays.asList("CHF", "EUR", "GBP", "JPY", "USD"));

    private static final long FETCH_NANOS = 1_000_000;

    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private final Map<String, Integer> perMille = new HashMap<>();
    private int version;

    RateCache() {
        refresh();
    }

    /** Cents of a foreign currency in cents of the bank's own. */
    long convert(long cents, String currency) {
        lock.readLock().lock();
        try {
            return cents * perMille.get(currency) / 1000;
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Fetches new rates, while every reader waits: the second mistake in this bank. */
    void refresh() {
        lock.writeLock().lock();
        try {
            version++;
            fetch();
        } finally {
            lock.writeLock().unlock();
        }
    }

    private void fetch() {
        LockSupport.parkNanos(FETCH_NANOS);
        for (int i = 0; i < CURRENCIES.size(); i++) {
            perMille.put(CURRENCIES.get(i), 900 + (version * 7 + i * 31) % 200);
        }
    }
}
