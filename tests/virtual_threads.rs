//! Virtual threads wait under their own names, and many of them do not make
//! many files.

use crate::support::{
    Jdk, Program, Recording, assert_between, callgrind_parts, ms, on_jdks, stdout_of, threads,
    tyrion,
};
use serde_json::Value;
use std::collections::HashMap;

on_jdks!(two_virtual_threads: since(21));
on_jdks!(many_on_a_monitor: newest, everywhere since(21));
on_jdks!(many_on_a_lock: newest, everywhere since(21));
on_jdks!(many_are_blamed: everywhere since(21));
on_jdks!(more_at_once_than_a_table_has: everywhere only(21));
on_jdks!(interrupted_in_blocking_nio: only(21));

fn two_virtual_threads(jdk: &Jdk) {
    check_two(|scenario| Program::truth(jdk, scenario));
}

/// A virtual thread that waits for another, for each kind of lock.
pub fn check_two(program: impl Fn(&str) -> Program) {
    for kind in ["monitor", "lock", "stamped", "semaphore"] {
        let recording = program(&format!("virtual-two {kind}")).record();
        let waits = recording.long_contentions();
        let [wait] = &waits[..] else { panic!("{kind}: {waits:?}") };
        assert_eq!(wait.thread, "vwaiter", "{kind}");
        let (least_ns, most_ns) = (recording.number("least_ns"), recording.number("wait_ns"));
        assert_between(kind, wait.wait_ns, least_ns, most_ns);
        let threads = threads(&recording.log);
        let thread = threads.iter().find(|thread| thread["name"] == "vwaiter");
        assert_eq!(thread.unwrap()["virtual"], true, "{kind}");
    }
}

/// JDK 21 interrupts with a lock of the thread held. Where the agent has the JVM wait
/// for the thread meanwhile, both stop: in trace mode within seconds.
fn interrupted_in_blocking_nio(jdk: &Jdk) {
    let program = || Program::truth(jdk, "nio-interrupts 2 200").option("--threshold=0");
    for program in [program(), program().traced(), program().traced().option("--walk=jvmti")] {
        assert!(program.record().number("rounds") >= 200);
    }
}

fn many_on_a_monitor(jdk: &Jdk) {
    check_many(&Program::truth(jdk, &format!("virtual {MANY} monitor")));
}

fn many_on_a_lock(jdk: &Jdk) {
    check_many(&Program::truth(jdk, &format!("virtual {MANY} lock")));
}

/// The number of virtual threads.
pub const MANY: u64 = 20_000;

/// Twenty thousand virtual threads that take one lock, each once.
pub fn check_many(program: &Program) {
    let recording = program.clone().option("--threshold=0").record();
    assert_eq!(recording.number("acquisitions"), MANY);
    let waits: Vec<_> = recording
        .contentions()
        .into_iter()
        .filter(|wait| wait.thread.starts_with("virtual-") && wait.is_in_the_program())
        .collect();
    // What the program calls blocked began before our wait and ended after it;
    // it may also have waited for a CPU.
    let over_ns = recording.number("blocked_means_over_ns");
    let mut by_thread: HashMap<&str, Vec<u64>> = HashMap::new();
    for wait in waits.iter().filter(|wait| wait.wait_ns > over_ns) {
        by_thread.entry(&wait.thread).or_default().push(wait.wait_ns);
    }
    // Each waits once. Without probes a thread that wakes, is overtaken and comes to wait
    // again only a third of a second later, as on a busy machine, has two waits.
    let blocked = by_thread.len() as u64;
    let measured = recording.number("contentions");
    by_thread.retain(|_, waits| waits.len() > 1);
    assert!(blocked <= measured, "{blocked} of {measured}; twice: {by_thread:?}");
    assert!(by_thread.len() <= 3, "{by_thread:?}");
    assert!(blocked >= measured / 10 * 9, "{blocked} of {measured}");
    let wait_ns: u64 = waits.iter().map(|wait| wait.wait_ns).sum();
    let measured_ns = recording.number("all_wait_ns");
    assert!(wait_ns <= measured_ns, "{wait_ns} of {measured_ns}");
    assert!(wait_ns >= measured_ns / 10 * 9, "{wait_ns} of {measured_ns}");
    check_size(&recording);
}

/// Contention mode has no table of a fixed size: the waits of all are in the log, or
/// counted as dropped where the log did not grow in time.
fn more_at_once_than_a_table_has(jdk: &Jdk) {
    const AT_ONCE: u64 = (1 << 18) + 10_000;
    let program = Program::truth(jdk, &format!("virtual-crowd {AT_ONCE} 1"));
    let recording = program.option("--threshold=0").record();
    let info = recording.info();
    let number = |path: &str| info.pointer(path).and_then(Value::as_u64).expect(path);
    let other = |key: &str| number(&format!("/callbacks/other/{key}"));
    let dropped = other("dropped");
    assert_eq!(other("ended"), other("recorded") + other("folded") + dropped);
    // Those that come last find that they need not wait.
    let parked = number("/kinds/park/count");
    assert!(parked + dropped >= AT_ONCE - 1000, "{parked} and {dropped}");
}

/// Each charge looks at all who wait, so they become rare where many do; what
/// is charged stays the same. All but the last release is charged: whoever is
/// traced, however many there are, leaves next to nothing over.
fn many_are_blamed(jdk: &Jdk) {
    let guards =
        [("monitor", "tyrion.truth.Guard$MonitorGuard"), ("lock", "tyrion.truth.Guard$LockGuard")];
    for (kind, class) in guards {
        let recording = Program::truth(jdk, &format!("virtual {MANY} {kind}")).traced().record();
        let info = recording.info();
        let number = |path: &str| info.pointer(path).and_then(Value::as_u64).expect(path);
        let (wait_ns, blamed_ns) = (number("/totals/wait_ns"), number("/trace/blame/blamed_ns"));
        assert!(blamed_ns <= wait_ns, "{kind}: {blamed_ns} of {wait_ns}");
        // Until Java 23 few virtual threads wait for a monitor at a time, and
        // the time from a release to a waiter's return weighs more.
        let least_ns = if kind == "lock" { wait_ns / 100 * 99 } else { wait_ns / 10 * 9 };
        assert!(blamed_ns >= least_ns, "{kind}: {blamed_ns} of {wait_ns}");
        let taken = recording.traced().taken(class);
        assert_eq!(taken.acquisitions, MANY, "{kind}");
        assert_eq!(number("/trace/statistics/threads.untraced"), 0, "{kind}");
        // Not one for each waiter every millisecond.
        let parts = number("/trace/blame/count");
        assert!(parts <= 40 * MANY + wait_ns / ms(5), "{kind}: {parts} parts of {wait_ns} ns");
    }
}

/// Chunks belong to OS threads: a chunk for each virtual thread would be over
/// a gigabyte.
fn check_size(recording: &Recording) {
    let info = recording.info();
    let bytes = info["file_bytes"].as_u64().unwrap();
    assert!(bytes < 16 << 20, "{bytes} bytes");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.callgrind");
    let convert = ["convert", "--to", "callgrind", "--max-parts", "8", "-o"];
    stdout_of(tyrion().args(convert).arg(&out).arg(&recording.log));
    let parts = callgrind_parts(&out).len();
    assert!((1..=8).contains(&parts), "{parts} parts");
}
