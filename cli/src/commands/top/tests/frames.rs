//! Frames, against what the program of the log did.

use super::*;
use crate::commands::top::frame::{LockKey, ThreadKey};

#[test]
fn locks_are_grouped_by_name() {
    let made = made(false);
    let frame = made.frame(&contention());
    assert_eq!(frame.window_ns, 5 * S);
    let names: Vec<String> = frame.locks.iter().map(|row| row.lock.shown()).collect();
    let turn = "Queue.turn (java.util.concurrent.locks.ReentrantLock#3)";
    assert_eq!(names, ["Cache.map (java.lang.Object)", turn]);
    let map = &frame.locks[0];
    assert_eq!((map.instances, map.waiters, map.waits.waits), (2, 2, 4));
    // 1 s of 2 s, 10 ms, 20 ms and 1 s; and 2 s that have not ended.
    assert!(near(map.waits.waiting, (1.0 + 0.03 + 1.0 + 2.0) / 5.0), "{map:?}");
    assert_eq!((map.waits.max_ns, map.waits.pending, map.waits.pending_ns), (2 * S, 1, 2 * S));
    assert_eq!(map.waits.mean_ns, (3 * S + 30 * MS) / 4);
    assert!(near(map.waits.waits_per_s, 0.8));
    // Who had it when the pending wait began; and the longer of two owners.
    assert_eq!(map.holder.as_deref(), Some("main"));
    assert_eq!(frame.locks[1].holder.as_deref(), Some("worker-1"));
    assert_eq!((frame.total.waits, frame.total.pending), (6, 1));
}

#[test]
fn threads_tell_what_they_wait_for() {
    let frame = made(false).frame(&contention());
    let rows: Vec<(&str, u64, u64)> = frame
        .threads
        .iter()
        .map(|row| (row.thread.name.as_str(), row.waits.waits, row.waits.pending_ns))
        .collect();
    assert_eq!(rows, [("worker-2", 1, 2 * S), ("worker-1", 3, 0), ("main", 2, 0)]);
    let lock = |nth: usize| frame.threads[nth].lock.as_ref().unwrap().name.clone();
    assert_eq!([lock(0), lock(1), lock(2)], ["Cache.map", "Cache.map", "Queue.turn"]);
    assert!(frame.threads.iter().all(|row| row.waits.waiting <= 1.0));
}

#[test]
fn instances_and_kinds_are_told_apart_when_asked_for() {
    let frame = made(false).frame(&all());
    let rows: Vec<(u32, &str)> =
        frame.locks.iter().map(|row| (row.lock.id, row.kind.name())).collect();
    assert_eq!(rows, [(1, "monitor"), (2, "monitor"), (3, "park"), (3, "lock")]);
}

#[test]
fn trace_mode_tells_acquisitions_and_holders() {
    let made = made(true);
    let frame = made.frame(&contention());
    let map = &frame.locks[0];
    let taken = map.taken.unwrap();
    // 4000 of 100 µs, in the second that they were counted in.
    assert!(near(taken.acquisitions_per_s, 4000.0) && near(taken.held, 0.4), "{taken:?}");
    assert_eq!(map.holder.as_deref(), Some("main"), "for 2 s, as against 20 ms");
    let detail = made.detail(&contention(), &map.subject(&contention()));
    let holders: Vec<(&str, u64)> =
        detail.holders.iter().map(|row| (row.thread.as_str(), row.count)).collect();
    assert_eq!(holders, [("worker-2", 2)]);
    let stacks: Vec<&str> = detail.holding.iter().map(|row| row.frames[0].as_str()).collect();
    let place = "com.acme.cache.Cache.get(Cache.java:21)";
    assert_eq!(stacks, ["com.acme.cache.Cache.put(Cache.java:34)", place]);
}

#[test]
fn a_lock_and_a_thread_have_stacks() {
    let made = made(false);
    let key = LockKey { name: "Cache.map".to_owned(), class: "java.lang.Object".to_owned(), id: 0 };
    let subject = Subject::Lock(key.clone(), WaitKind::Monitor);
    let detail = made.detail(&contention(), &subject);
    let stacks: Vec<(&str, u64)> =
        detail.waiting.iter().map(|row| (row.frames[0].as_str(), row.count)).collect();
    let get = ("com.acme.cache.Cache.get(Cache.java:21)", 3);
    assert_eq!(stacks, [get, ("com.acme.cache.Cache.put(Cache.java:34)", 1)]);
    assert_eq!(detail.pending.len(), 1);
    assert_eq!(detail.pending[0].owner.as_deref(), Some("main"));
    // Another instance; another kind.
    let one = Subject::Lock(LockKey { id: 2, ..key.clone() }, WaitKind::Monitor);
    assert_eq!(made.detail(&all(), &one).waiting.len(), 1);
    assert_eq!(made.detail(&all(), &Subject::Lock(key, WaitKind::Park)), Detail::default());
    let thread = ThreadKey { name: "main".to_owned(), java_id: 1 };
    let detail = made.detail(&all(), &Subject::Thread(thread));
    let locks: Vec<&str> = detail.waiting.iter().map(|row| row.lock.as_str()).collect();
    let turn = "Queue.turn (java.util.concurrent.locks.ReentrantLock#3)";
    assert_eq!(locks, [format!("park {turn}"), format!("lock {turn}")]);
    assert_eq!((detail.waiting[0].count, detail.waiting[1].count), (1, 2), "park and lock");
}
