//! `tyrion whatif`: what is predicted of real programs, by its sign alone, and how the
//! command answers.

use crate::support::{
    Jdk, Program, err, on_jdks, out, root, run, sample_log, share, stdout_of, text, text_of, tyrion,
};
use serde_json::Value;
use std::path::Path;

/// A program with a bottleneck, recorded so that it can be replayed.
fn recorded(jdk: &Jdk, program: &str, operations: u32) -> crate::support::Recording {
    Program::class(jdk, &format!("tyrion.whatif.WhatIf {program} before 0 0"))
        .flag(format!("-Dwhatif.operations={operations}"))
        .option("--mode=trace+sample")
        .option("--period=5ms")
        .option("--events=all")
        .option("--precise")
        .option("--threshold=0")
        .preferred()
        .record()
}

/// What is predicted of the lock of this name.
fn predicted(log: &Path, lock: &str, more: &[&str]) -> Value {
    let mut command = tyrion();
    command.args(["whatif", "--json", "--lock", lock]).args(more).arg(log);
    let said = stdout_of(&mut command);
    let answer: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    answer["predictions"][0].clone()
}

/// Eight threads sleep while they hold the lock: without it they sleep at the same time.
fn a_lock_in_which_threads_sleep(jdk: &Jdk) {
    let recording = recorded(jdk, "disk", 60);
    let free = predicted(&recording.log, "Disk.lock", &["--free"]);
    assert_eq!(text_of(&free, "method"), "replay", "{free}");
    assert!(share(&free, "throughput_ratio") > 1.5, "{free}");
    let half = predicted(&recording.log, "Disk.lock", &["--hold", "/2"]);
    assert!(share(&half, "throughput_ratio") > 1.2, "{half}");
    assert!(share(&half, "throughput_ratio") < share(&free, "throughput_ratio"), "{half} {free}");
    // The report says the same.
    let mut report = tyrion();
    report.args(["report", "--json", "--section=whatif"]).arg(&recording.log);
    let report: Value = serde_json::from_str(&stdout_of(&mut report)).unwrap();
    let first = &report["sections"]["whatif"]["locks"][0];
    assert_eq!(text_of(&first["lock"], "name"), "Disk.lock", "{report}");
    assert_eq!(first["changes"][0]["throughput_ratio"], free["throughput_ratio"], "{report}");
}

/// Eight threads compute on fewer processors, and the lock is held for a fifth of that.
fn a_lock_that_is_not_the_limit(jdk: &Jdk) {
    // Where other programs had the processors, the replay is not to be believed: it is
    // then far from what was recorded.
    let is_alike = |prediction: &Value| {
        let [replayed, recorded] = ["replayed_per_second", "recorded_per_second"]
            .map(|name| prediction[name].as_f64().unwrap());
        (0.85..1.15).contains(&(replayed / recorded))
    };
    let one = (0..TRIES).map(|_| {
        let recording = recorded(jdk, "crowd", 3000);
        let two = predicted(&recording.log, "Crowd.lock", &["--free"]);
        // On one processor nobody gains, however many there are.
        (two, predicted(&recording.log, "Crowd.lock", &["--free", "--processors=1"]))
    });
    let mut unlike = Vec::new();
    for (two, one) in one {
        if is_alike(&two) {
            assert!(share(&one, "throughput_ratio") < 1.15, "{one} {two}");
            return;
        }
        unlike.push(two);
    }
    panic!("no replay was like its recording: {unlike:?}");
}

/// How often a program is recorded until nobody disturbs it.
const TRIES: usize = 12;

// A replay is not to be believed where other programs had the processors, so these
// want a machine of their own.
on_jdks!(a_lock_in_which_threads_sleep: everywhere all);
on_jdks!(a_lock_that_is_not_the_limit: everywhere two);

fn whatif(arguments: &[&str]) -> std::process::Output {
    run([&["whatif"], arguments].concat())
}

#[test]
fn contention_logs_have_a_coarse_answer() {
    let log = sample_log();
    let arguments = [text(&log), "--free", "--lock", "com.acme.bank.Bank"];
    let answer = whatif(&arguments);
    assert!(answer.status.success(), "{}", err(&answer));
    assert!(out(&answer).contains("If com.acme.bank.Bank were free: throughput"), "{answer:?}");
    assert!(out(&answer).contains("queueing theory"), "{answer:?}");
    for jobs in ["1", "3"] {
        let again = whatif(&[&arguments[..], &["--jobs", jobs]].concat());
        assert_eq!(out(&again), out(&answer));
    }
    // Only waits for something to happen.
    let refused = whatif(&[text(&log), "--lock", "java"]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert!(err(&refused).contains("nothing can be predicted"), "{}", err(&refused));
}

/// A lock in which threads sleep, recorded as any program is by default.
fn holds_of_contention_mode_are_estimated(jdk: &Jdk) {
    let recording = Program::class(jdk, "tyrion.whatif.WhatIf disk before 0 0")
        .flag("-Dwhatif.operations=60".to_owned());
    let recording = recording.option("--mode=contention").preferred().record();
    let free = predicted(&recording.log, "Disk.lock", &["--free"]);
    assert_eq!(text_of(&free, "method"), "sampled", "{free}");
    assert!(share(&free, "throughput_ratio") > 1.5, "{free}");
    let bounds = ["low_ratio", "high_ratio"].map(|name| share(&free, name));
    assert!(bounds[0] < share(&free, "throughput_ratio"), "{free}");
    assert!(bounds[1] > share(&free, "throughput_ratio"), "{free}");
    // Without a name it is the first of the list.
    let list: Value =
        serde_json::from_str(&out(&whatif(&[text(&recording.log), "--json"]))).unwrap();
    let first = &list["candidates"][0];
    assert_eq!(text_of(&first["lock"], "name"), "Disk.lock", "{list}");
    assert_eq!(first["throughput_ratio"], free["throughput_ratio"], "{list}");
}

on_jdks!(holds_of_contention_mode_are_estimated: everywhere two);

#[test]
fn without_a_lock_all_are_listed() {
    let listed = whatif(&[text(&sample_log())]);
    assert!(listed.status.success(), "{}", err(&listed));
    assert!(out(&listed).contains("com.acme.bank.Bank"), "{}", out(&listed));
    assert!(out(&listed).contains("--lock NAME"), "{}", out(&listed));
    assert!(!out(&listed).contains("at most"), "{}", out(&listed));
}

#[test]
fn wrong_questions_are_refused() {
    let log = sample_log();
    for (arguments, status, said) in [
        (&["--lock", "no.such.Lock"][..], 2, "no lock matches"),
        (&["--lock", "int[]"], 2, "no lock matches 'int[]'"),
        (&["--free"], 2, "--lock"),
        (&["--stripes", "4"], 2, "--lock"),
        (&["--lock", "x", "--free", "--hold", "/2"], 2, "cannot be used with"),
        (&["--lock", "x", "--hold", "2"], 2, "write /2"),
        (&["--lock", "x", "--stripes", "1"], 2, "number of stripes"),
        (&["--lock", "x", "--processors", "0"], 2, "processors"),
        (&["--lock", "x", "--free", "--reads", "get"], 2, "cannot be used with"),
    ] {
        let answer = whatif(&[arguments, &[text(&log)]].concat());
        assert_eq!(answer.status.code(), Some(status), "{arguments:?}: {}", err(&answer));
        assert!(err(&answer).contains(said), "{arguments:?}: {}", err(&answer));
    }
}

#[test]
fn answers_go_where_they_are_asked_to() {
    let log = root().join("testdata/logs/v1-trace.log");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answer.json");
    let arguments = [text(&log), "--json", "--lock", "Cache.map"];
    let printed = whatif(&arguments);
    assert!(printed.status.success(), "{}", err(&printed));
    let written = whatif(&[&arguments[..], &["-o", text(&file)]].concat());
    assert!(written.status.success(), "{}", err(&written));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), out(&printed));
    // Never in place of the log.
    let copy = folder.path().join("copy.log");
    std::fs::copy(&log, &copy).unwrap();
    let refused = whatif(&[text(&copy), "--lock", "Cache.map", "-o", text(&copy)]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
}

#[test]
fn cut_logs_end_with_an_answer_or_a_reason() {
    let bytes = std::fs::read(root().join("testdata/logs/v1-holds.log")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for part in [3, 5, 7, 9] {
        let log = folder.path().join("cut.log");
        std::fs::write(&log, &bytes[..bytes.len() * part / 10]).unwrap();
        let answer = whatif(&[text(&log), "--lock", "."]);
        assert!(matches!(answer.status.code(), Some(0..=3)), "{}", err(&answer));
        assert!(!err(&answer).contains("a bug in tyrion"), "{}", err(&answer));
    }
}
