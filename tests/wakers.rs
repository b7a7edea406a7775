//! Who ends waits: of a program that knows who did.

use crate::support::{
    Jdk, Program, Recording, dump, info, list, number, on_jdks, out, output, stdout_of, text_of,
    tyrion,
};
use serde_json::Value;
use std::path::Path;

on_jdks!(each_wait_has_its_waker: extremes, everywhere all);
on_jdks!(each_wait_has_its_waker_when_attached: ends, everywhere all);
on_jdks!(notifiers_are_known_in_trace_mode: ends, everywhere all);
on_jdks!(virtual_threads_have_wakers: newest, everywhere since(21));
on_jdks!(who_ends_is_joined: ends, everywhere all);
on_jdks!(nobody_asks: two);
on_jdks!(outputs_show_wakers: one);

/// How often each wait is repeated.
const TIMES: usize = 12;

fn program(jdk: &Jdk) -> Program {
    Program::truth(jdk, &format!("wakers {TIMES}")).option("--threshold=0")
}

/// Who ended the waits of a thread of one kind, in the order of time, and with what
/// stacks. How long they were is not asked: a waiter whose state says that it waits may
/// have been taken off its processor before the wait began by the clock. Waits of any
/// length have stacks, as `program` asks for it.
fn wakes(log: &Path, waiter: &str, kind: &str) -> Vec<Value> {
    let mut wakes = dump(log, &["wake"]);
    wakes.retain(|wake| wake["waiter"] == waiter && wake["kind"] == kind);
    wakes.sort_by_key(|wake| number(wake, "at_ns"));
    wakes
}

/// In each of these ways each wait was ended by the one who says so.
fn check(recording: &Recording, is_seen: impl Fn(&str) -> bool) {
    let ways = list(&recording.said, "ways");
    assert!(ways.len() >= 9);
    for way in ways {
        let (name, waiter) = (text_of(way, "way"), text_of(way, "waiter"));
        let found = wakes(&recording.log, waiter, text_of(way, "kind"));
        if !is_seen(name) {
            assert_eq!(found, [Value::Null; 0], "{name}");
            continue;
        }
        let wakers: Vec<&Value> = found.iter().map(|wake| &wake["thread"]).collect();
        let expected: Vec<&Value> = list(way, "wakers").iter().collect();
        assert_eq!(wakers, expected, "{name}: {found:#?}");
        for wake in &found {
            assert!(number(wake, "wait_ns") > 0, "{name}: {wake:#}");
            assert_eq!(wake["stack_taken"], true, "{name}: {wake:#}");
            let stack = list(wake, "stack");
            let is_waking =
                |frame: &Value| frame.as_str().unwrap().contains("wakeOnce(Wakers.java");
            assert!(stack.iter().any(is_waking), "{name}: {wake:#}");
            let is_ours = |frame: &Value| frame.as_str().unwrap().contains("Tyrion");
            assert!(!stack.iter().any(is_ours), "{name}: {wake:#}");
        }
    }
}

/// The JVM notifies whoever has waited longest, and the log says by whom it was.
fn check_crowd(recording: &Recording) {
    let crowd = list(&recording.said, "crowd");
    assert_eq!(crowd.len(), 3);
    for said in crowd {
        let found = wakes(&recording.log, text_of(said, "waiter"), "object-wait");
        let wakers: Vec<&Value> = found.iter().map(|wake| &wake["thread"]).collect();
        assert_eq!(wakers, [&said["waker"]], "{said}: {found:#?}");
    }
}

/// Nothing tells of `notify` without trace mode.
fn is_seen_by_parks(way: &str) -> bool {
    !way.starts_with("notify")
}

fn each_wait_has_its_waker(jdk: &Jdk) {
    check(&program(jdk).record(), is_seen_by_parks);
    check(&program(jdk).option("--parks=natives").record(), is_seen_by_parks);
}

fn each_wait_has_its_waker_when_attached(jdk: &Jdk) {
    check(&program(jdk).attached().record(), is_seen_by_parks);
    let traced = program(jdk).traced().attached().record();
    check(&traced, |_| true);
    check_crowd(&traced);
}

fn notifiers_are_known_in_trace_mode(jdk: &Jdk) {
    let recording = program(jdk).traced().record();
    check(&recording, |_| true);
    check_crowd(&recording);
}

fn virtual_threads_have_wakers(jdk: &Jdk) {
    let program = program(jdk).flag("-Dtruth.virtual=true".to_owned());
    check(&program.record(), is_seen_by_parks);
    let traced = program.traced().record();
    check(&traced, |_| true);
    check_crowd(&traced);
}

/// `Thread.join` is `Object.wait`, and the JVM itself notifies at a thread's end.
fn who_ends_is_joined(jdk: &Jdk) {
    let recording = Program::truth(jdk, "idle").record();
    let found = wakes(&recording.log, "idle-join", "object-wait");
    let wakers: Vec<&Value> = found.iter().map(|wake| &wake["thread"]).collect();
    assert_eq!(wakers, ["sleeper"], "{found:#?}");
}

fn nobody_asks(jdk: &Jdk) {
    for program in [program(jdk), program(jdk).traced(), program(jdk).option("--parks=natives")] {
        let recording = program.option("--wakers=false").record();
        assert_eq!(dump(&recording.log, &["wake"]), [Value::Null; 0]);
        assert_eq!(info(&recording.log)["metadata"]["wakers"], "false");
        let mut convert = tyrion();
        convert.args(["convert", "--to", "collapsed", "--by", "waker", "-o", "-"]);
        let refused = output(convert.arg(&recording.log));
        assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
    }
}

/// The stacks of wakers carry the waits that they ended.
fn outputs_show_wakers(jdk: &Jdk) {
    let recording = program(jdk).record();
    let mut convert = tyrion();
    convert.args(["convert", "--to", "collapsed", "--by", "waker", "--by-thread", "-o", "-"]);
    convert.args(["--kind", "semaphore,park,condition"]);
    let lines = stdout_of(convert.arg(&recording.log));
    let of = |waker: &str| -> u64 {
        let lines = lines.lines().filter(|line| line.starts_with(&format!("[{waker}];")));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    };
    for (waker, waiter, kind) in [
        ("waker-semaphore-0", "waiter-semaphore", "semaphore"),
        ("waker-latch-1", "waiter-latch", "park"),
        ("waker-queue-1", "waiter-queue", "condition"),
    ] {
        let ended = wakes(&recording.log, waiter, kind);
        let ended = ended.iter().filter(|wake| wake["thread"] == waker);
        assert_eq!(of(waker), ended.map(|wake| number(wake, "wait_ns")).sum::<u64>(), "{lines}");
    }
}
