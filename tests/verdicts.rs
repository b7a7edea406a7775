//! What the report says first, of programs of which it is known.

use crate::support::{
    Jdk, Program, Report, list, number, on_jdks, out, output, run, share, stdout_of, subject_jar,
    text, text_of, tyrion,
};
use serde_json::Value;
use std::{collections::BTreeSet, path::Path};

on_jdks!(deadlock: two);
on_jdks!(one_hot_lock: two);
on_jdks!(one_hot_lock_traced: one);
on_jdks!(computing: one);
on_jdks!(idle: two);
on_jdks!(demo: one);
on_jdks!(demo_traced: one, everywhere two);
on_jdks!(database: one);

/// The verdict in JSON, after what holds for all of them.
fn verdict(log: &Path) -> Value {
    let verdict = Report::of(log).section("verdict").clone();
    let lines: Vec<&str> = list(&verdict, "lines").iter().map(|it| it.as_str().unwrap()).collect();
    assert!((2..=5).contains(&lines.len()), "{lines:#?}");
    assert_eq!(lines[lines.len() - 1], format!("Next: {}", text_of(&verdict, "next")));
    // The text and what `profile` prints begin with it, and the page has it first.
    let printed = stdout_of(tyrion().arg("report").arg(log));
    // Long ones are wrapped.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let begin = words(&lines.join(" "));
    assert!(words(&printed).starts_with(&begin), "{begin}---\n{printed:.800}");
    let page = stdout_of(tyrion().args(["report", "--html", "-o", "-"]).arg(log));
    let first = page.split("<section id=\"").nth(1).unwrap();
    assert!(first.starts_with("verdict\""), "{first:.80}");
    verdict
}

/// The whole report fits some screens, and every line of it a terminal.
fn check_length(log: &Path) {
    let printed = stdout_of(tyrion().arg("report").arg(log));
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() <= 120, "{} lines:\n{printed}", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{printed}");
    let all = stdout_of(tyrion().args(["report", "--top=20"]).arg(log));
    assert!(all.lines().count() > lines.len(), "there is more, for who asks for it:\n{all}");
}

/// A suggested command is one of ours, and does what it says.
fn check_next(verdict: &Value) {
    let next = text_of(verdict, "next");
    let words: Vec<&str> = next.split(' ').collect();
    assert_eq!(words[0], "tyrion", "{next}");
    if words[1] == "report" {
        let shown = run(&words[1..]);
        assert!(shown.status.success() && !out(&shown).is_empty(), "{next}");
    }
}

fn deadlock(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock lock others").start();
    running.await_line("deadlocked");
    running.kill_jvm();
    let verdict = verdict(&running.log);
    assert_eq!(text_of(&verdict, "finding"), "deadlock", "{verdict:#}");
    let first = verdict["lines"][0].as_str().unwrap();
    let threads: BTreeSet<&str> =
        list(&verdict, "waiting").iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(threads, BTreeSet::from(["left", "right"]));
    let told = ["left and right", "right and left"]
        .map(|both| format!("Deadlock: {both} wait for each other"));
    assert!(told.iter().any(|told| first.starts_with(told)), "{first}");
    check_next(&verdict);
}

/// Eight threads keep a monitor for 50 ms each.
const TOGETHER: &str = "together monitor 8 50";

fn one_hot_lock(jdk: &Jdk) {
    let recording = Program::truth(jdk, TOGETHER).record();
    let verdict = verdict(&recording.log);
    assert_eq!(text_of(&verdict, "finding"), "locks", "{verdict:#}");
    assert!(share(&verdict, "lost_share") > 0.05, "{verdict:#}");
    let lock = &verdict["lock"];
    assert!(share(lock, "wait_share") > 0.5, "{verdict:#}");
    assert!(text_of(lock, "waiter").contains("tyrion.truth."), "{verdict:#}");
    assert_eq!(
        (text_of(lock, "cause"), text_of(lock, "certainty")),
        ("unknown", "estimated"),
        "{verdict:#}"
    );
    check_next(&verdict);
}

fn one_hot_lock_traced(jdk: &Jdk) {
    let recording = Program::truth(jdk, TOGETHER).traced().record();
    let verdict = verdict(&recording.log);
    let lock = &verdict["lock"];
    assert_eq!(text_of(&verdict, "finding"), "locks", "{verdict:#}");
    assert_eq!(text_of(lock, "holder_known_by"), "charged", "{verdict:#}");
    assert_eq!(text_of(lock, "cause"), "long-holds", "{verdict:#}");
    assert!(text_of(lock, "holder").contains("tyrion.truth."), "{verdict:#}");
    check_next(&verdict);
}

fn computing(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.subjects.Compute 3 8");
    let recording = program.option("--mode=contention+sample").option("--period=10ms").record();
    let verdict = verdict(&recording.log);
    assert_eq!(text_of(&verdict, "finding"), "not-locks", "{verdict:#}");
    let instead = &verdict["instead"];
    let activity = text_of(instead, "activity");
    assert!(
        ["few-processors", "computing", "computing-on-some"].contains(&activity),
        "{verdict:#}"
    );
    assert_eq!(text_of(instead, "place"), "tyrion.subjects.Compute.mix", "{verdict:#}");
    assert!(verdict["processors"].as_u64() >= Some(1), "{verdict:#}");
    assert!(verdict["cpu_ns"].as_u64() > Some(0), "{verdict:#}");
}

fn idle(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.subjects.IdleServer 4 16");
    let recording = program.option("--mode=contention+sample").option("--period=10ms").record();
    let verdict = verdict(&recording.log);
    assert_eq!(text_of(&verdict, "finding"), "not-locks", "{verdict:#}");
    assert_eq!(text_of(&verdict["instead"], "activity"), "idle", "{verdict:#}");
    check_next(&verdict);
}

/// The demo's one lock too many.
fn check_demo(log: &Path, known_by: &str) {
    let verdict = &verdict(log);
    assert_eq!(text_of(verdict, "finding"), "locks", "{verdict:#}");
    let lock = &verdict["lock"];
    // Where others want the processors, too, its connections are kept for longer, and the
    // pool is what tellers wait for most.
    if text_of(&lock["lock"], "name") == "ConnectionPool.free" {
        let report = Report::of(log);
        let rows = list(report.section("contended"), "locks");
        let wait_of = |class: &str| {
            let of_class = rows.iter().filter(|row| text_of(&row["lock"], "class") == class);
            of_class.map(|row| number(row, "wait_ns")).sum::<u64>()
        };
        let (pool, log) =
            (wait_of("java.util.concurrent.Semaphore"), wait_of("com.acme.bank.AuditLog"));
        assert!(pool > log, "{pool} ns at the pool, {log} at the log: {verdict:#}");
        let said = verdict["lines"][1].as_str().unwrap();
        assert!(said.contains("ConnectionPool.borrow"), "{said}");
        return check_next(verdict);
    }
    assert_eq!(text_of(&lock["lock"], "class"), "com.acme.bank.AuditLog", "{verdict:#}");
    for key in ["holder", "waiter"] {
        let place = text_of(lock, key);
        assert!(place.starts_with("com.acme.bank.AuditLog.append("), "{key}: {verdict:#}");
    }
    assert_eq!(text_of(lock, "holder_known_by"), known_by, "{verdict:#}");
    let said = verdict["lines"][1].as_str().unwrap();
    assert!(said.contains("held and waited for in AuditLog.append"), "{said}");
    assert_eq!(text_of(&verdict["most_lost"], "threads"), "teller-*", "{verdict:#}");
    check_next(verdict);
}

/// With the processors for itself, as far as that can be had.
fn bank(jdk: &Jdk) -> Program {
    Program::class(jdk, "com.acme.bank.BankServer --seconds 3").preferred().alone()
}

fn demo(jdk: &Jdk) {
    let recording = bank(jdk).record();
    check_demo(&recording.log, "asked");
    check_length(&recording.log);
}

fn demo_traced(jdk: &Jdk) {
    let recording = bank(jdk).traced().record();
    check_demo(&recording.log, "charged");
    check_length(&recording.log);
}

/// A database, with everything recorded.
fn database(jdk: &Jdk) {
    let Some(jar) = subject_jar("hsqldb.jar") else { return };
    let program = Program::class(jdk, "tyrion.subjects.JdbcBank jdbc:hsqldb:mem:bank 8 2 1");
    let program = program.jar(&jar).option("--mode=trace+sample").option("--period=10ms");
    let recording = program.record();
    verdict(&recording.log);
    check_length(&recording.log);
}

/// Logs of earlier agents, which do not tell of processors.
#[test]
fn every_log_has_a_verdict() {
    let logs = crate::support::root().join("testdata/logs");
    for name in ["v1-tiny", "v1-small", "v1-killed", "v1-trace", "v1-holds", "v1-sample"] {
        let log = logs.join(format!("{name}.log"));
        let mut command = tyrion();
        let told = output(command.args(["report", "--section", "verdict"]).arg(&log));
        let lines = out(&told);
        assert!((2..=5).contains(&lines.lines().count()), "{name}:\n{lines}");
        assert!(lines.lines().last().unwrap().starts_with("Next: tyrion "), "{name}:\n{lines}");
        let json = stdout_of(tyrion().args(["report", "--json", "--section=verdict", text(&log)]));
        let json: Value = serde_json::from_str(&json).unwrap();
        assert!(json["sections"]["verdict"]["finding"].is_string(), "{name}: {json}");
    }
}
