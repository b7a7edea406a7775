//! What is in the log of a JVM that was killed.

use crate::support::{Jdk, Program, Wait, assert_between, info, on_jdks, pending, wait_for, waits};
use std::path::Path;

on_jdks!(killed_in_a_storm: one, everywhere two);
on_jdks!(killed_in_a_deadlock: newest, everywhere all);

/// The threads of a storm.
const THREADS: u64 = 4;

/// How often the threads had to wait for the lock, as the JVM told them, from
/// the second half of the program's map of counters.
fn contended(counters: &Path) -> u64 {
    let bytes = std::fs::read(counters).unwrap_or_default();
    let counts = bytes.chunks_exact(8).skip(THREADS as usize);
    counts.map(|count| u64::from_le_bytes(count.try_into().unwrap())).sum()
}

fn killed_in_a_storm(jdk: &Jdk) {
    for (kind, parks) in [("monitor", "auto"), ("lock", "auto"), ("lock", "probes")] {
        let folder = tempfile::tempdir().unwrap();
        let counters = folder.path().join("counters");
        let flag = format!("-Dtruth.counters={}", counters.display());
        let program = Program::truth(jdk, &format!("storm 60 {kind}")).flag(flag).pinned().alone();
        let program = program.option(&format!("--parks={parks}"));
        let mut running = program.option("--threshold=0").start();
        wait_for("storm", || (contended(&counters) > 10_000).then_some(()));
        let status = running.kill_jvm();
        assert_eq!(status.code(), Some(128 + 9), "{kind}");

        let info = info(&running.log);
        assert_eq!(info["complete"], false, "{kind}");
        assert_eq!(info["damage"].as_array().unwrap().len(), 0, "{kind}");
        let callbacks = |key: &str| info["callbacks"]["contention"][key].as_u64().unwrap();
        let kept = callbacks("recorded") + callbacks("folded") + callbacks("dropped");
        let threads = info["threads"].as_u64().unwrap();
        // A thread killed between its count and its record.
        assert!(callbacks("ended").abs_diff(kept) <= threads, "{kind}: {}", info["callbacks"]);
        let contentions = info["totals"]["contentions"].as_u64().unwrap();
        assert!(contentions.abs_diff(kept) <= threads, "{kind}: {contentions}, {kept}");
        // Each wait that the program knows of, and one of each thread that was
        // killed before it knew. Without probes the last acquisition of a thread is written
        // at its next event.
        let waits = waits(&running.log).into_iter();
        let of_storm = waits.filter(|it| it.kind == kind && it.thread.starts_with("storm-"));
        let contended = contended(&counters);
        let got = of_storm.map(|wait| wait.count).sum();
        let unwritten = if (kind, parks) == ("lock", "auto") { THREADS } else { 0 };
        assert_between(kind, got, contended - unwritten, contended + THREADS);
    }
}

fn killed_in_a_deadlock(jdk: &Jdk) {
    for (kind, lock_class) in [
        ("monitor", "tyrion.truth.Deadlock$Fork"),
        ("lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
    ] {
        let mut running = Program::truth(jdk, &format!("deadlock {kind}")).start();
        running.await_line("deadlocked");
        running.kill_jvm();
        let pending = pending(&running.log);
        let of = |thread: &str| -> &Wait {
            let found = pending.iter().find(|wait| wait.thread == thread && wait.kind == kind);
            found.unwrap_or_else(|| panic!("{kind}: no {thread} in {pending:?}"))
        };
        let (left, right) = (of("left"), of("right"));
        assert_ne!(left.lock, right.lock, "{kind}");
        for (waiter, other) in [(left, "right"), (right, "left")] {
            assert_eq!(waiter.lock_class, lock_class);
            // That of a monitor is asked for after a second, if it lives so long.
            match waiter.owner.as_deref() {
                None => assert_eq!(kind, "monitor"),
                owner => assert_eq!(owner, Some(other), "{kind}"),
            }
            assert!(
                waiter.stack.iter().any(|frame| frame.contains("(Deadlock.java:")),
                "{waiter:?}"
            );
        }
        let info = info(&running.log);
        assert_eq!(info["state"], "recording", "{kind}");
        let contended = pending.iter().filter(|wait| wait.kind == kind).count();
        assert_eq!(contended, 2, "{kind}");
        let contended = pending.iter().filter(|wait| wait.is_contention()).count();
        assert_eq!(info["waiting"]["contention"], contended, "{kind}");
    }
}
