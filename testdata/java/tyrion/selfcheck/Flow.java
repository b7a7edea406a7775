package tyrion.selfcheck;

/** Blocks among loops, switches, labels, try and finally: jumps of every kind in and around them. */
final class Flow implements SelfCheck.Check {
    private final Object lock = new Object();
    private final Object other = new Object();
    private int finallies;

    @Override
    public void run() {
        int sum = 0;
        for (int i = 0; i < 2_000; i++) {
            sum += loop(i % 11);
            sum += dense(i % 7);
            sum += sparse(i % 7 * 1000);
            sum += labelled(i % 5, i % 3);
            sum += text(i % 3 == 0 ? "one" : i % 3 == 1 ? "two" : "three");
            sum += conditional(i % 4);
            Locked.check(!Thread.holdsLock(lock) && !Thread.holdsLock(other), "held after a round");
        }
        Locked.check(sum == expected(), "the sum: " + sum + ", expected " + expected());
        Locked.free(lock, "lock");
        Locked.free(other, "other");
        Locked.check(finallies > 0, "finally");
    }

    /** What the methods compute, without any lock. */
    private static int expected() {
        int sum = 0;
        for (int i = 0; i < 2_000; i++) {
            int limit = i % 11;
            sum += limit > 8 ? 88 : limit + limit / 3;
            int dense = i % 7;
            sum += new int[] {10, 11, 112, 1112, 14, -1, -1}[dense];
            int sparse = i % 7 * 1000;
            sum += sparse == 1000 ? 1 : sparse == 3000 ? 5 : sparse == 6000 ? 3 : -7;
            for (int a = 0; a < 5; a++) {
                if (a == i % 5) {
                    break;
                }
                for (int b = 0; b < 3; b++) {
                    if (b == i % 3) {
                        break;
                    }
                    sum++;
                }
            }
            sum += i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 3;
            sum += i % 4 == 0 ? 40 : i % 4 == 1 ? 31 : i % 4 == 2 ? 22 : 13;
        }
        return sum;
    }

    private int loop(int limit) {
        int result = 0;
        for (int i = 0; ; i++) {
            synchronized (lock) {
                if (i == limit) {
                    break;
                }
                if (i == 8) {
                    return 88;
                }
                result++;
                if (i % 3 != 2) {
                    continue;
                }
                result++;
            }
        }
        return result;
    }

    @SuppressWarnings("fallthrough")
    private int dense(int value) {
        int result = 0;
        synchronized (lock) {
            switch (value) {
                case 0:
                    synchronized (other) {
                        return 10;
                    }
                case 1:
                    result = 11;
                    break;
                case 3:
                    result += 1000;
                    // Falls through.
                case 2:
                    synchronized (other) {
                        result += 100;
                    }
                    result += 12;
                    break;
                case 4:
                    return 14;
                default:
                    result = -1;
            }
        }
        return result;
    }

    private synchronized int sparse(int value) {
        switch (value) {
            case 1000:
                return 1;
            case 3000:
                synchronized (lock) {
                    value = 5;
                    break;
                }
            case 6000:
                try {
                    return 3;
                } finally {
                    synchronized (lock) {
                        finallies++;
                    }
                }
            default:
                value = -7;
        }
        return value;
    }

    private int labelled(int stopOuter, int stopInner) {
        int result = 0;
        outer:
        for (int a = 0; a < 5; a++) {
            synchronized (lock) {
                for (int b = 0; b < 3; b++) {
                    synchronized (other) {
                        if (a == stopOuter) {
                            break outer;
                        }
                        if (b == stopInner) {
                            continue outer;
                        }
                        result++;
                    }
                }
            }
        }
        return result;
    }

    private int text(String word) {
        synchronized (lock) {
            switch (word) {
                case "one":
                    return 1;
                case "two":
                    return 2;
                default:
                    return 3;
            }
        }
    }

    private int conditional(int way) {
        int a = way;
        int result;
        synchronized (a % 2 == 0 ? lock : other) {
            do {
                synchronized (a % 2 == 0 ? other : lock) {
                    result = a == way ? 10 * (4 - way) : 0;
                    try {
                        if (way == 3) {
                            throw new IllegalStateException();
                        }
                        result += way;
                    } catch (IllegalStateException e) {
                        result += way;
                    } finally {
                        finallies++;
                    }
                }
            } while (++a < way);
        }
        return result;
    }
}
