//! Waits for monitors of blocks from in front of the block on.

use crate::support::{Jdk, Program, Recording, Wait, assert_between, on_jdks};

on_jdks!(spinning: newest, everywhere three);
on_jdks!(a_wait_is_counted_once: since(17));
on_jdks!(what_nobody_else_has_is_not_waited_for: ends, everywhere all);

/// A busy machine may keep a thread from running between the program's look at
/// the clock and the probe's.
const ATTEMPTS: usize = 5;
const TOLERANCE: f64 = 0.1;
const ROUNDS: u64 = 5_000;
/// How long the lock is held in each, and so waited for.
const HOLD_US: u64 = 15;

/// HotSpot spins for a lock that is held for so short, and may report nothing:
/// on JDK 17 it told of 334 to 456 of these 5 000 waits, on JDK 25 of all.
fn spinning(jdk: &Jdk) {
    let program = Program::truth(jdk, &format!("spins {ROUNDS} {HOLD_US}")).traced();
    let program = program.option("--precise").option("--threshold=5us").preferred().alone();
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let recording = program.record();
        let (waits, wait_ns) = of_the_block(&recording);
        let said = (recording.number("waits"), recording.number("wait_ns"));
        seen.push((waits, wait_ns, said));
        // What the agent does at a wait's end is in the program's time, not in its own.
        let least_ns = scaled(waits * HOLD_US * 1000, -TOLERANCE);
        let most_ns = scaled(said.1, TOLERANCE);
        if waits > ROUNDS / 2
            && (scaled(said.0, -TOLERANCE)..=scaled(said.0, TOLERANCE)).contains(&waits)
            && (least_ns..=most_ns).contains(&wait_ns)
        {
            return;
        }
    }
    panic!("(waits, wait_ns, what the program took): {seen:?}");
}

fn scaled(value: u64, by: f64) -> u64 {
    (value as f64 * (1.0 + by)) as u64
}

/// Those waits for the block's monitor that the program counts, and their sum.
fn of_the_block(recording: &Recording) -> (u64, u64) {
    let class = format!("{}.want(", recording.said["class"].as_str().unwrap());
    let long_ns = recording.number("long_ns");
    let mut waits = recording.contentions();
    waits.retain(|wait| wait.kind == "monitor" && wait.wait_ns >= long_ns * wait.count);
    waits.retain(|wait| wait.stack.first().is_some_and(|frame| frame.starts_with(&class)));
    let count = waits.iter().map(|wait| wait.count).sum();
    (count, waits.iter().map(|wait| wait.wait_ns).sum())
}

/// The JVM reports this wait, and the probe behind the block sees it, too.
fn a_wait_is_counted_once(jdk: &Jdk) {
    let program = Program::truth(jdk, "holder-monitor").traced().option("--precise");
    let recording = program.record();
    let waits = recording.long_contentions();
    let [wait] = &waits[..] else { panic!("{waits:?}") };
    assert_eq!(wait.thread, "waiter");
    let waited = recording.number("wait_ns");
    assert_between("wait", wait.wait_ns, recording.number("least_ns"), waited);
}

/// A thread that is not run for a while just where it takes a lock does not wait for it,
/// nor where it has the lock already.
fn what_nobody_else_has_is_not_waited_for(jdk: &Jdk) {
    let program = Program::truth(jdk, "undisturbed 1500").traced();
    let recording = program.option("--precise").option("--threshold=0").record();
    let class = recording.said["class"].as_str().unwrap();
    let of_the_class = |wait: &Wait| {
        wait.stack.iter().any(|frame| frame.starts_with(class)) && wait.kind == "monitor"
    };
    let waits: Vec<Wait> = recording.contentions().into_iter().filter(of_the_class).collect();
    assert!(waits.is_empty(), "{} waits: {:?}", waits.len(), waits.first());
    assert!(recording.number("taken") > 1_000);
}
