//! Threads whose lives are short, whose names change, and whose state changes
//! while they sleep or while they are looked at.

use super::outputs::{sampled_ns, samples};
use crate::support::{Jdk, Program, Recording, assert_near, on_jdks};
use serde_json::Value;

on_jdks!(notified: newest, everywhere three);
on_jdks!(notified_with_contention: one);
on_jdks!(short_lived: one, everywhere two);
on_jdks!(handed_on: everywhere three);
on_jdks!(renamed: everywhere two);

/// Of the snapshots that were due, at least so many were taken: else the sampler itself came
/// late, and what it saw stands for times at which it did not look.
const TAKEN: f64 = 0.8;
/// How far what eight threads are blocked for may be from their waits. A sampler
/// that asks for one thread after the other is off by a seventh here.
const HANDED: f64 = 0.08;
const ATTEMPTS: usize = 3;
/// How far a share of a few seconds may be from the truth: threads are seen once
/// in a period.
const NEAR: f64 = 0.1;
/// The same of some 300 samples, each of another thread: three and a half times what their
/// number alone makes likely.
const CHANCE: f64 = 0.2;

/// Records a program, which a sampler looks at as often as it is asked to.
fn record(program: &Program, period_ms: u64) -> Recording {
    let program = program.clone().option(&format!("--period={period_ms}ms"));
    program.record_undisturbed(|recording| {
        let info = recording.info();
        let (taken, all_ns) = (&info["sampling"]["snapshots"], &info["duration_ns"]);
        let due = all_ns.as_f64().unwrap() / (period_ms as f64 * 1e6);
        taken.as_f64().unwrap() >= TAKEN * due
    })
}

fn sum_of(samples: &[Value], key: &str, wanted: impl Fn(&Value) -> bool) -> f64 {
    let wanted = samples.iter().filter(|sample| wanted(sample));
    wanted.map(|sample| sample[key].as_u64().unwrap() as f64).sum()
}

/// Who is notified waits for the monitor from then on, and has not run.
fn check_notified(recording: &Recording, is_known: impl Fn(&Value) -> bool) {
    let samples = samples(&recording.log);
    let of_state = |state: &str| {
        let of_waiter = |it: &Value| it["thread"] == "waiter" && it["state"] == state;
        sum_of(&samples, "wall_ns", of_waiter)
    };
    let (waited_ns, kept_ns) = (recording.number("waited_ns"), recording.number("kept_ns"));
    assert_near("waiting", of_state("waiting"), waited_ns as f64, NEAR);
    assert_near("blocked", of_state("blocked"), kept_ns as f64, NEAR);
    // The JVM says that the wait has ended before the thread has the monitor again. In
    // between it is blocked, for nothing known: a moment, which one snapshot may meet.
    let is_blocked = |it: &Value| it["thread"] == "waiter" && it["state"] == "blocked";
    let unknown = sum_of(&samples, "count", |it| is_blocked(it) && !is_known(it));
    assert!(unknown <= 1.0, "{samples:#?}");
}

fn notified(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Notified 2000 2000");
    let recording = record(&program.option("--mode=sample"), 20);
    check_notified(&recording, |sample| sample["lock"].is_null());
}

/// It still is in the wait that contention mode knows of.
fn notified_with_contention(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Notified 2000 2000");
    let recording = record(&program.option("--mode=contention+sample"), 20);
    check_notified(&recording, |it| {
        it["kind"] == "object-wait" && it["lock_class"] == "java.lang.Object"
    });
}

/// Threads that are woken while others are looked at, and those that go on until
/// they can be stopped, were doing what they did before.
fn handed_on(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.HandOff 200 4").alone();
    let program = program.option("--mode=contention+sample").option("--period=10ms");
    let program = program.option("--threshold=0");
    // On a busy machine the sampler itself is kept waiting, now and then.
    let mut attempts = (0..ATTEMPTS).map(|_| check_handed_on(&program.record()));
    assert!(attempts.any(|off| off <= HANDED), "none of {ATTEMPTS} is right");
}

/// How far what threads were blocked for is from what they waited.
fn check_handed_on(recording: &Recording) -> f64 {
    let samples = samples(&recording.log);
    let waits = recording.waits();
    let waited_ns: u64 = waits.iter().filter(|it| it.kind == "lock").map(|it| it.wait_ns).sum();
    let is_blocked = |it: &Value| it["kind"] == "lock";
    let blocked_ns = sum_of(&samples, "wall_ns", is_blocked);
    let ends_in_park =
        |it: &Value| it["stack"][0].as_str().is_some_and(|f| f.contains("Unsafe.park"));
    let contradicting = samples.iter().filter(|it| it["state"] == "running" && ends_in_park(it));
    assert_eq!(contradicting.count(), 0);
    let off = (blocked_ns / waited_ns as f64 - 1.0).abs();
    eprintln!("blocked {blocked_ns} of {waited_ns} ns: {off}");
    off
}

/// Most threads come and go between two snapshots; those that are seen stand for
/// the others.
fn short_lived(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.ShortLived 30 500");
    let recording = record(&program.option("--mode=sample"), 50);
    let samples = samples(&recording.log);
    let is_short = |it: &Value| it["thread"] == "short";
    let (wall_ns, cpu_ns) =
        (sum_of(&samples, "wall_ns", is_short), sum_of(&samples, "cpu_ns", is_short));
    assert_eq!(recording.number("threads"), 500, "{}", recording.said);
    assert_near("wall", wall_ns, recording.number("lived_ns") as f64, CHANCE);
    assert_near("cpu", cpu_ns, recording.number("cpu_ns") as f64, CHANCE);
}

/// Threads that get a name that is asked for, from themselves and from others,
/// are sampled from then on, until they get another one.
fn renamed(jdk: &Jdk) {
    let program =
        Program::class(jdk, "tyrion.sampling.Renamed 1500").option("--mode=sample").alone();
    let recording = program.option("--period=20ms").option("--threads=^http").record();
    let samples = samples(&recording.log);
    // As they are called in the end.
    for (thread, key) in [("gone", "http_1_ns"), ("asleep again", "http_2_ns")] {
        let wall_ns = sampled_ns(&samples, thread) as f64;
        assert_near(thread, wall_ns, recording.number(key) as f64, NEAR);
    }
    let is_other = |it: &Value| it["thread"] != "gone" && it["thread"] != "asleep again";
    assert!(!samples.iter().any(is_other), "{samples:#?}");
}
