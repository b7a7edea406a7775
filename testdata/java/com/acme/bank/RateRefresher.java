package com.acme.bank;

/** Refreshes the exchange rates, until interrupted. */
final class RateRefresher implements Runnable {
    private static final long PERIOD_MILLIS = 25;

    private final RateCache rates;

    RateRefresher(RateCache rates) {
        this.rates = rates;
    }

    @Override
    public void run() {
        try {
            while (true) {
                Thread.sleep(PERIOD_MILLIS);
                rates.refresh();
            }
        } catch (InterruptedException e) {
            // The bank closes.
        }
    }
}
