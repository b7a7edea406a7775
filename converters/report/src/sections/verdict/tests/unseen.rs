//! Recordings that show only threads that run, and waits only once they have ended.

use super::*;

const POOL: &[&str] = &[
    "java.lang.Thread.run:840",
    "java.util.concurrent.ThreadPoolExecutor$Worker.run:635",
    "java.util.concurrent.ThreadPoolExecutor.getTask:1062",
    "java.util.concurrent.LinkedBlockingQueue.take:435",
];
const READER: &[&str] = &["com.acme.Reader.run:7", "com.acme.Pipe.read:20"];
const TASKS: LockSpec = (
    WaitKind::Condition,
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", ""),
);
const PIPE: LockSpec = (WaitKind::ObjectWait, ("com.acme.Pipe", ""));

/// A program that used 0.05 processors, and of which one thread was seen running now and then.
fn quiet() -> Crafted {
    let metadata = [("mode", "contention+sample"), ("period", "20000000"), ("processors", "2")];
    let mut log = Crafted::with(LENGTH_NS, &metadata);
    log.sample(("pool-1", &["com.acme.Task.run:3"]), Running, (40 * MS, 2), (40 * MS, 40 * MS));
    log.used(S / 2);
    log
}

fn activity(log: Crafted) -> Activity {
    verdict(log).instead.unwrap().activity
}

/// Two threads that wait for tasks for nearly all of their time.
fn workers(log: &mut Crafted) {
    for _ in 0..90 {
        log.pass(100 * MS);
        log.wait("pool-1", POOL, TASKS, 90 * MS, "");
        log.wait("pool-2", POOL, TASKS, 90 * MS, "");
    }
}

#[test]
fn a_pool_that_gets_tasks_now_and_then_is_idle() {
    let mut log = quiet();
    workers(&mut log);
    assert_eq!(activity(log), Activity::Idle);
}

#[test]
fn who_was_seen_once_and_never_waiting_may_wait_for_ever() {
    let mut log = quiet();
    workers(&mut log);
    for nth in 0..3 {
        let ward = format!("ward-{nth}");
        log.sample((&ward, &["com.acme.Ward.ask:3"]), Running, (9 * S, 1), (20 * MS, 20 * MS));
    }
    assert_eq!(activity(log), Activity::Unknown);
}

#[test]
fn who_waits_in_vain_is_not_idle() {
    let mut log = quiet();
    for _ in 0..9 {
        log.pass(S);
        log.times_out("reader-1", READER, PIPE, S);
    }
    assert_eq!(activity(log), Activity::Unknown);
}

#[test]
fn what_used_the_processors_is_not_idle() {
    let mut log = quiet();
    workers(&mut log);
    log.used(4 * S);
    assert_eq!(activity(log), Activity::Unknown);
}
