package tyrion.identity;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** Locks that come from a map, a list, a parameter or a method, and one that has two names. */
public final class FromElsewhere {
    private static final int TURNS = 4;

    private final Map<String, Object> map = Collections.singletonMap("key", new Object());
    private final List<Object> list = Arrays.asList(new Object());
    private final Object parameter = new Object();
    private final Object result = new Object();
    private final Map<String, ReentrantLock> locks = Collections.singletonMap("key", new ReentrantLock());
    private final Object one = new Object();
    private final Object other = one;

    void ofMap() {
        Object ofMap = map.get("key");
        synchronized (ofMap) { Account.at(ofMap, 1); }
    }

    void ofList() {
        Object ofList = list.get(0);
        synchronized (ofList) { Account.at(ofList, 2); }
    }

    static void ofParameter(Object given) {
        synchronized (given) { Account.at(given, 3); }
    }

    void ofResult() {
        synchronized (result()) { Account.at(result, 4); }
    }

    private Object result() {
        return result;
    }

    void lockOfMap() {
        ReentrantLock found = locks.get("key");
        found.lock();
        try {
            Account.at(found, 5);
        } finally {
            found.unlock();
        }
    }

    void byOne() {
        synchronized (one) { Account.at(one, 6); }
    }

    void byOther() {
        synchronized (other) { Account.at(other, 7); }
    }

    public static void main(String[] args) {
        Account.begin();
        FromElsewhere it = new FromElsewhere();
        List<Runnable> ways = Arrays.asList(
                it::ofMap, it::ofList, () -> ofParameter(it.parameter), it::ofResult, it::lockOfMap);
        for (int turn = 0; turn < TURNS; turn++) {
            for (Runnable way : ways) {
                Account.contend(way, way);
                way.run();
            }
            Account.contend(it::byOne, it::byOther);
            Account.contend(it::byOther, it::byOne);
            it.byOne();
        }
        Account.end();
    }
}
