package com.acme.bank;

/** CRC-64 (ECMA-182), byte by byte: real work of some tens of microseconds for a page. */
final class Checksum {
    private static final long POLYNOMIAL = 0x42F0E1EBA9EA3693L;
    private static final long[] TABLE = table();

    private Checksum() {}

    /** Checksum of the bytes, continuing from an earlier one. */
    static long of(byte[] bytes, long earlier) {
        long crc = earlier;
        for (byte b : bytes) {
            crc = TABLE[(int) (crc >>> 56) ^ (b & 0xff)] ^ (crc << 8);
        }
        return crc;
    }

    private static long[] table() {
        long[] table = new long[256];
        for (int i = 0; i < table.length; i++) {
            long crc = (long) i << 56;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc << 1) ^ (crc < 0 ? POLYNOMIAL : 0);
            }
            table[i] = crc;
        }
        return table;
    }
}
