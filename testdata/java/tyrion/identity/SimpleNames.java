package tyrion.identity;

/** Two classes of one simple name, with a lock each. */
public final class SimpleNames {
    private SimpleNames() {}

    public static void main(String[] args) {
        Account.begin();
        tyrion.identity.pa.Cache one = new tyrion.identity.pa.Cache();
        tyrion.identity.pb.Cache other = new tyrion.identity.pb.Cache();
        for (int turn = 0; turn < 3; turn++) {
            Account.contend(one::get, one::get);
            Account.contend(other::get, other::get);
            other.get();
        }
        Account.contend(one::get, one::get);
        Account.end();
    }
}
