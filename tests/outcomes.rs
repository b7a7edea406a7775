//! How waits end, what follows a condition's wait, and what threads are called.

use crate::support::{Jdk, Program, Recording, assert_between, list, ms, number, on_jdks, threads};
use serde_json::Value;

on_jdks!(outcomes: extremes, everywhere all);
on_jdks!(locks_taken_again: ends, everywhere all);
on_jdks!(names: ends, everywhere all);

fn outcomes(jdk: &Jdk) {
    check_outcomes(&Program::truth(jdk, "outcomes").record());
}

/// Waits that end in each way.
pub fn check_outcomes(recording: &Recording) {
    let waits = recording.long_contentions();
    let said = list(&recording.said, "outcomes");
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
        let (least_ns, most_ns) = (number(measured, "least_ns"), number(measured, "wait_ns"));
        assert_between(thread, wait.wait_ns, least_ns, most_ns);
    }
}

/// After `notify` the JVM shows no second wait up to JDK 26: it stays in `Object.wait`. Later
/// it does, but when exactly that one begins is not known.
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
        let (idle_ns, lock_ns) = (sum_of(idle_kind), lock_kind.map_or(0, sum_of));
        let told = |part: &str| {
            let bound = |bound: &str| recording.number(&format!("{part}_{bound}_ns"));
            (bound("least"), bound("most"))
        };
        let check = |part: &str, got: u64, (least, most): (u64, u64)| {
            assert_between(&format!("{variant}: {part}"), got, least, most);
        };
        if lock_kind.is_some() {
            check("idle", idle_ns, told("idle"));
            check("wait", lock_ns, told("wait"));
        } else {
            let again_ns = if jdk.major > 26 { sum_of("monitor") } else { 0 };
            assert!(again_ns > 0 || jdk.major <= 26, "{waits:?}");
            check("total", idle_ns + again_ns, told("total"));
        }
        // Which no machine makes shorter.
        assert!(idle_ns + lock_ns >= ms(150), "{variant}: {idle_ns} and {lock_ns}");
        let contentions = recording.long_contentions().len();
        let is_told = lock_kind == Some("monitor") || variant == "monitor" && jdk.major > 26;
        let expected = usize::from(is_told);
        assert_eq!(contentions, expected, "{variant}: taking it again is a kind of its own");
    }
}

/// What identifies a thread to its user.
fn identity(thread: &Value, name: &str) -> (String, String, bool) {
    let text = |key: &str| thread[key].as_str().unwrap().to_owned();
    (text(name), text("group"), thread["daemon"].as_bool().unwrap())
}

fn names(jdk: &Jdk) {
    check_names(&Program::truth(jdk, "names").record());
}

/// Threads that get other names while they run.
pub fn check_names(recording: &Recording) {
    let said = recording.said["threads"].as_array().unwrap();
    let mut expected: Vec<_> = said.iter().map(|thread| identity(thread, "last_name")).collect();
    let threads = threads(&recording.log);
    let ours = threads.iter().filter(|thread| {
        let name = thread["name"].as_str().unwrap();
        // The JVM's own are of the group "system", but for the one that ends it.
        !["main", "names-holder", "Common-Cleaner", "DestroyJavaVM"].contains(&name)
            && thread["group"] != "system"
    });
    let mut recorded: Vec<_> = ours.map(|thread| identity(thread, "name")).collect();
    expected.sort();
    recorded.sort();
    assert_eq!(recorded, expected);
    assert_eq!(recording.long_contentions().len(), expected.len());
}
