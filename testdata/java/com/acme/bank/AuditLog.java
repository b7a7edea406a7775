package com.acme.bank;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * The hot lock: one log for the whole bank. {@link #append} does under its monitor what it could do
 * before it: it formats the line, seals the page with a checksum, and every now and then waits for
 * the disk.
 */
final class AuditLog {
    private static final int PAGE_BYTES = 16 * 1024;
    private static final int ENTRIES_PER_FLUSH = 50;
    private static final long DISK_NANOS = 1_000_000;

    private final byte[] page = new byte[PAGE_BYTES];
    private int end;
    private long entries;
    private long seal;

    synchronized void append(String teller, int from, int to, long cents) {
        entries++;
        write(format(teller, from, to, cents));
        seal = Checksum.of(page, seal);
        if (entries % ENTRIES_PER_FLUSH == 0) {
            flush();
        }
    }

    private String format(String teller, int from, int to, long cents) {
        return String.format(
                Locale.ROOT,
                "%08d %-10s account %04d -> account %04d %8d.%02d%n",
                entries, teller, from, to, cents / 100, cents % 100);
    }

    private void write(String line) {
        byte[] bytes = line.getBytes(StandardCharsets.US_ASCII);
        if (end + bytes.length > PAGE_BYTES) {
            end = 0;
        }
        System.arraycopy(bytes, 0, page, end, bytes.length);
        end += bytes.length;
    }

    /** Waits for a disk that is not there. */
    private void flush() {
        LockSupport.parkNanos(DISK_NANOS);
    }

    synchronized long entries() {
        return entries;
    }

    synchronized long seal() {
        return seal;
    }
}
