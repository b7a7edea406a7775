//! How waits end, what follows a condition's wait, and what threads are called.

use crate::support::{Jdk, Program, assert_close, ms, on_jdks, threads};
use serde_json::Value;

on_jdks!(outcomes: jdk11 = 11 jdk17 = 17 jdk21 = 21 jdk25 = 25);
on_jdks!(locks_taken_again: jdk11 = 11 jdk17 = 17 jdk21 = 21 jdk25 = 25);
on_jdks!(names: jdk11 = 11 jdk17 = 17 jdk21 = 21 jdk25 = 25);

const CLOCKS_NS: u64 = ms(5);
/// So late a thread may come to a CPU on a busy machine.
const LATE_NS: u64 = ms(20);

fn outcomes(jdk: &Jdk) {
    let recording = Program::truth(jdk, "outcomes").record();
    let waits = recording.long_contentions();
    let said = recording.said["outcomes"].as_array().unwrap();
    assert_eq!(waits.len(), said.len(), "{waits:?}");
    for (thread, kind, outcome) in [
        ("try-timeout", "lock", "timed-out"),
        ("try-granted", "lock", "granted"),
        ("interrupted", "lock", "interrupted"),
        ("stamped-timeout", "lock-write", "timed-out"),
        ("semaphore-timeout", "semaphore", "timed-out"),
    ] {
        let wait = waits.iter().find(|wait| wait.thread == thread).unwrap();
        assert_eq!(
            (wait.kind.as_str(), wait.outcome.as_deref()),
            (kind, Some(outcome)),
            "{wait:?}"
        );
        let measured = said.iter().find(|said| said["thread"] == thread).unwrap();
        let measured_ns = measured["wait_ns"].as_u64().unwrap();
        if thread == "interrupted" {
            // It starts its interrupter before it waits, and measures that too.
            assert!((ms(40)..=measured_ns).contains(&wait.wait_ns), "{wait:?} of {measured_ns}");
        } else {
            assert_close(thread, wait.wait_ns, measured_ns, CLOCKS_NS);
        }
    }
}

/// After `notify` the JVM shows no second wait: it stays in `Object.wait`.
fn locks_taken_again(jdk: &Jdk) {
    for (variant, idle_kind, lock_kind) in [
        ("condition", "condition", Some("lock-reacquire")),
        ("condition-timeout", "condition", Some("lock-reacquire")),
        ("monitor", "object-wait", None),
        ("monitor-timeout", "object-wait", Some("monitor")),
    ] {
        let recording = Program::truth(jdk, &format!("reacquire {variant}")).record();
        let waits = recording.waits();
        let sum_of = |kind: &str| -> u64 {
            let of_kind = waits.iter().filter(|wait| wait.thread == "awaiter" && wait.kind == kind);
            of_kind.map(|wait| wait.wait_ns).sum()
        };
        let (idle, lock) = (sum_of(idle_kind), lock_kind.map(sum_of));
        // What we count lies within what the program does: on a busy machine
        // it may wait for a CPU in between.
        let (both, measured) = (idle + lock.unwrap_or(0), recording.number("total_ns"));
        assert!(both <= measured, "{variant}: {both} of {measured}");
        assert!(both + CLOCKS_NS + LATE_NS >= measured, "{variant}: {both} of {measured}");
        // 50 ms and 100 ms, which no machine makes shorter.
        assert!(both + CLOCKS_NS >= ms(150), "{variant}: {both}");
        if let Some(lock) = lock {
            let measured = recording.number("wait_ns");
            if variant.ends_with("-timeout") {
                // The program counts from the moment of the timeout, we from
                // when the thread woke.
                assert_close(variant, lock, measured, CLOCKS_NS + LATE_NS);
            } else {
                assert!(lock <= measured + CLOCKS_NS, "{variant}: {lock} of {measured}");
                assert!(lock + CLOCKS_NS + LATE_NS >= measured, "{variant}: {lock} of {measured}");
                assert!(lock + CLOCKS_NS >= ms(100), "{variant}: {lock}");
            }
        }
        let contentions = recording.long_contentions().len();
        let expected = usize::from(lock_kind == Some("monitor"));
        assert_eq!(contentions, expected, "{variant}: taking it again is a kind of its own");
    }
}

/// What identifies a thread to its user.
fn identity(thread: &Value, name: &str) -> (String, String, bool) {
    let text = |key: &str| thread[key].as_str().unwrap().to_owned();
    (text(name), text("group"), thread["daemon"].as_bool().unwrap())
}

fn names(jdk: &Jdk) {
    let recording = Program::truth(jdk, "names").record();
    let said = recording.said["threads"].as_array().unwrap();
    let mut expected: Vec<_> = said.iter().map(|thread| identity(thread, "last_name")).collect();
    let threads = threads(&recording.log);
    let ours = threads.iter().filter(|thread| {
        let name = thread["name"].as_str().unwrap();
        !["main", "names-holder", "Common-Cleaner"].contains(&name)
    });
    let mut recorded: Vec<_> = ours.map(|thread| identity(thread, "name")).collect();
    expected.sort();
    recorded.sort();
    assert_eq!(recorded, expected);
    assert_eq!(recording.long_contentions().len(), expected.len());
}
