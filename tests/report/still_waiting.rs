//! Real deadlocks, killed, with threads behind them and beside them.

use crate::{
    attaching::start_unrecorded,
    support::{
        Jdk, Program, Report, err, list, number, on_jdks, run, stdout_of, text, text_of, tyrion,
        wait_for,
    },
};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

on_jdks!(deadlocks: two);
on_jdks!(attached_to_a_deadlock: ends, everywhere three);
on_jdks!(attached_to_a_deadlock_of_locks: ends);
on_jdks!(deadlocks_traced: one, everywhere two);

const FORK: &str = "tyrion.truth.Deadlock$Fork";
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock";

/// What a thread waits for: the kind, and the class of the lock.
type WaitKindClass = (&'static str, &'static str);

/// Deadlocks of threads "left" and "right": what each waits for.
const DEADLOCKS: [(&str, WaitKindClass, WaitKindClass); 3] = [
    ("monitor", ("monitor", FORK), ("monitor", FORK)),
    ("lock", ("lock", LOCK), ("lock", LOCK)),
    ("mixed", ("lock", LOCK), ("monitor", FORK)),
];

/// A lock of java.util.concurrent tells its owner at once, a monitor after a
/// second. Then the owner that only sleeps is known, too.
fn deadlocks(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock all others").start();
    running.await_line("deadlocked");
    wait_for("the owners of all locks", || {
        let report = Report::with(&[&running.log], &["--section=still-waiting", "--top=0"]);
        let waiting = list(report.section("still-waiting"), "waiting");
        waiting.iter().all(|it| !text_of(it, "owner").is_empty()).then_some(())
    });
    running.kill_jvm();
    let report = Report::of(&running.log);
    let found = report.section("still-waiting");
    check(found, true);
    assert_eq!(text_of(found, "lacking"), "");
}

/// HotSpot tells an agent that comes later who waits for a monitor, not for which.
fn attached_to_a_deadlock(jdk: &Jdk) {
    let program = Program::truth(jdk, "deadlock monitor");
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    let log = running.log.clone();
    running.await_line("deadlocked");
    stdout_of(tyrion().args(["attach", "-o", text(&log)]).arg(running.id().to_string()));
    std::thread::sleep(Duration::from_millis(200));
    let report = Report::of(&log);
    let found = report.section("still-waiting");
    let waiting = list(found, "waiting");
    let threads: BTreeSet<&str> = waiting.iter().map(|it| text_of(it, "thread")).collect();
    assert_eq!(threads, BTreeSet::from(["left", "right"]));
    for wait in waiting {
        let stack = list(wait, "stack");
        assert!(stack[0].as_str().unwrap().contains("Deadlock.enterBothMonitors("), "{wait}");
        assert!(number(wait, "waited_ns") >= 200_000_000, "{wait}");
    }
    assert_eq!(number(report.section("overview"), "pending"), 2);
}

/// Locks of java.util.concurrent tell who has them.
fn attached_to_a_deadlock_of_locks(jdk: &Jdk) {
    let program = Program::truth(jdk, "deadlock lock");
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    running.await_line("deadlocked");
    let pid = running.id().to_string();
    stdout_of(tyrion().args(["attach", "-o", text(&running.log), &pid]));
    let report = Report::of(&running.log);
    let found = report.section("still-waiting");
    assert_eq!(list(found, "deadlocks").len(), 1, "{found:#}");
    for (thread, owner) in [("left", "right"), ("right", "left")] {
        let waiting = waiting(found, thread);
        check_waiting(waiting, "lock", LOCK);
        assert_eq!((text_of(waiting, "owner"), text_of(waiting, "state")), (owner, "deadlock"));
    }
}

/// A thread that waits tells in trace mode what it holds, so a deadlock needs
/// no second.
fn deadlocks_traced(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock all others").traced().start();
    running.await_line("deadlocked");
    running.kill_jvm();
    check(Report::of(&running.log).section("still-waiting"), false);
    let failed = run(["report", "--fail-if", "deadlocks > 0", text(&running.log)]);
    assert_eq!(failed.status.code(), Some(4), "{}", err(&failed));
}

/// `every_owner`: also those that do not wait themselves are known.
fn check(found: &Value, every_owner: bool) {
    assert_eq!(list(found, "deadlocks").len(), 3, "{found:#}");
    for (name, left, right) in DEADLOCKS {
        check_deadlock(found, name, left, right);
        check_behind(found, name, right);
        let patient = waiting(found, &format!("patient-{name}"));
        check_waiting(patient, "monitor", "tyrion.truth.Deadlock$Bed");
        assert_eq!(text_of(patient, "state"), "lock", "{patient}");
        match text_of(patient, "owner") {
            "" => assert!(!every_owner, "{patient}"),
            owner => assert_eq!(owner, format!("sleeper-{name}")),
        }
    }
    // Deadlocks first, then those behind them.
    let states: Vec<&str> = list(found, "waiting").iter().map(|it| text_of(it, "state")).collect();
    assert_eq!(
        states,
        [["deadlock"; 6].as_slice(), &["behind-deadlock"; 3], &["lock"; 3]].concat()
    );
    let counts = ["blocked_threads", "deadlocked_threads", "unfinished_logs"];
    assert_eq!(counts.map(|key| number(found, key)), [12, 6, 1]);
    check_idle(found);
}

fn waiting<'v>(found: &'v Value, thread: &str) -> &'v Value {
    let mut all = list(found, "waiting").iter();
    all.find(|it| it["thread"] == thread).unwrap_or_else(|| panic!("no {thread}: {found:#}"))
}

fn check_deadlock(found: &Value, name: &str, left: WaitKindClass, right: WaitKindClass) {
    let names = ["left", "right"].map(|side| format!("{side}-{name}"));
    let is_it = |ring: &&Value| {
        list(ring, "threads").iter().all(|it| names.iter().any(|name| it["thread"] == *name))
    };
    let ring = list(found, "deadlocks").iter().find(is_it).unwrap_or_else(|| panic!("no {name}"));
    let members = list(ring, "threads");
    assert_eq!(members.len(), 2, "{ring:#}");
    for (own, other, (kind, class)) in [(0, 1, left), (1, 0, right)] {
        let member = waiting(found, &names[own]);
        assert!(members.contains(member), "{member}");
        check_waiting(member, kind, class);
        assert_eq!(
            (text_of(member, "owner"), text_of(member, "state")),
            (&*names[other], "deadlock")
        );
        assert!(!text_of(member, "owner_known_by").is_empty(), "{member}");
    }
    let of = |key: &'static str| members.iter().map(move |member| number(member, key));
    let younger = (of("since_ns").max(), of("waited_ns").min());
    let told = (number(ring, "since_ns"), number(ring, "lasted_ns"));
    assert_eq!((Some(told.0), Some(told.1)), younger, "{ring:#}");
}

/// Who waits for what "left" has, and so does "right".
fn check_behind(found: &Value, name: &str, (kind, class): WaitKindClass) {
    let bystander = waiting(found, &format!("bystander-{name}"));
    check_waiting(bystander, kind, class);
    assert_eq!(text_of(bystander, "owner"), format!("left-{name}"));
    assert_eq!(text_of(bystander, "state"), "behind-deadlock");
    let right = waiting(found, &format!("right-{name}"));
    assert_eq!(bystander["lock"], right["lock"], "{bystander}");
}

fn check_waiting(waiting: &Value, kind: &str, class: &str) {
    assert_eq!(text_of(waiting, "kind"), kind, "{waiting}");
    assert_eq!(text_of(&waiting["lock"], "class"), class, "{waiting}");
    assert_ne!(number(&waiting["lock"], "id"), 0, "{waiting}");
    let mut frames = list(waiting, "stack").iter().map(|frame| frame.as_str().unwrap());
    assert!(frames.clone().any(|frame| frame.contains("(Deadlock.java:")), "{waiting}");
    assert!(frames.next_back().unwrap().starts_with("java.lang.Thread.run"), "{waiting}");
}

fn check_idle(found: &Value) {
    let is_it = |idle: &&Value| list(idle, "threads").iter().any(|name| name == "idle-lock");
    let idle = list(found, "idle").iter().find(is_it).unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(
        (text_of(idle, "kind"), text_of(idle, "class")),
        ("object-wait", "java.lang.Object")
    );
    assert_eq!(number(idle, "count"), 3, "{idle}");
    let threads: u64 = list(found, "idle").iter().map(|it| number(it, "count")).sum();
    assert_eq!(number(found, "threads"), threads + 12);
}
