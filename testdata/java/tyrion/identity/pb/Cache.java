package tyrion.identity.pb;

import tyrion.identity.Account;

/** One of two classes of this name. */
public final class Cache {
    private final Object lock = new Object();

    public void get() {
        synchronized (lock) { Account.at(lock, 2); }
    }
}
