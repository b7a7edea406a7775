package com.acme.bank;

import java.util.Arrays;
import java.util.List;

/** Takes in what customers want, and sends it through the checks to the {@link TransferService}. */
final class FrontDesk {
    private static final long DAILY_LIMIT_CENTS = 100_000;

    /** A check that a transfer passes, and that hands it on. */
    private interface Filter {
        void filter(Transfer transfer, FilterChain rest);
    }

    private final List<Filter> filters = Arrays.asList(new AccountFilter(), new LimitFilter());
    private final TransferService transfers;

    FrontDesk(TransferService transfers) {
        this.transfers = transfers;
    }

    void accept(Transfer transfer) {
        new FilterChain(0).proceed(transfer);
    }

    /** The checks still to pass, and the service behind them. */
    private final class FilterChain {
        private final int passed;

        FilterChain(int passed) {
            this.passed = passed;
        }

        void proceed(Transfer transfer) {
            if (passed < filters.size()) {
                filters.get(passed).filter(transfer, new FilterChain(passed + 1));
            } else {
                transfers.transfer(transfer);
            }
        }
    }

    /** Refuses a transfer from an account to itself. */
    private static final class AccountFilter implements Filter {
        @Override
        public void filter(Transfer transfer, FilterChain rest) {
            if (transfer.from() == transfer.to()) {
                throw new IllegalArgumentException("from and to are the same account");
            }
            rest.proceed(transfer);
        }
    }

    /** Refuses a transfer of nothing, or of too much. */
    private static final class LimitFilter implements Filter {
        @Override
        public void filter(Transfer transfer, FilterChain rest) {
            if (transfer.cents() <= 0 || transfer.cents() > DAILY_LIMIT_CENTS) {
                throw new IllegalArgumentException("not within the limit: " + transfer.cents());
            }
            rest.proceed(transfer);
        }
    }
}
