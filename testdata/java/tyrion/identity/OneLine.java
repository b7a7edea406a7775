package tyrion.identity;

import java.util.concurrent.locks.ReentrantLock;

/** Several locks on one line of the source, which a line alone does not tell apart. */
public final class OneLine {
    private static final Object A = new Object();
    private static final Object B = new Object();
    private static final Object C = new Object();
    private static final Object D = new Object();
    private static final Object W1 = new Object();
    private static final Object W2 = new Object();
    private static final ReentrantLock K = new ReentrantLock();
    private static final ReentrantLock L = new ReentrantLock();

    private static volatile boolean first;

    private OneLine() {}

    static void two() {
        // One line, on purpose.
        synchronized (A) { Account.at(A, 1); } synchronized (B) { Account.at(B, 2); }
    }

    static Runnable[] lambdas() {
        return new Runnable[] {
            () -> { synchronized (C) { Account.at(C, 3); } }, () -> { synchronized (D) { Account.at(D, 4); } }
        };
    }

    static void locks() {
        K.lock(); try { Account.at(K, 5); } finally { K.unlock(); } L.lock(); try { Account.at(L, 6); } finally { L.unlock(); }
    }

    static void waits() throws InterruptedException {
        synchronized (W1) {
            Account.at(W1, 9);
            synchronized (W2) {
                Account.at(W2, 10);
                if (first) { W1.wait(); Account.met(W1, 7); } else { W2.wait(); Account.met(W2, 8); }
            }
        }
    }

    private static void waitForOne() {
        try {
            waits();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) {
        Account.begin();
        Runnable[] lambdas = lambdas();
        // One and the same way to each line, so that the stacks differ in nothing else.
        Runnable two = OneLine::two;
        Runnable locks = OneLine::locks;
        Runnable waits = OneLine::waitForOne;
        for (int turn = 0; turn < 3; turn++) {
            Account.contend(1, two, two);
            Account.contend(3, lambdas[0], lambdas[0]);
            Account.contend(5, locks, locks);
            if (turn > 0) {
                // Less often, so that who takes one for the other is found out.
                Account.contend(2, two, two);
                Account.contend(4, lambdas[1], lambdas[1]);
                Account.contend(6, locks, locks);
            }
        }
        for (int turn = 0; turn < 3; turn++) {
            first = turn == 0;
            Account.awaitNotified(first ? W1 : W2, waits);
        }
        Account.end();
    }
}
