//! `tyrion attach`, `stop` and `status` on a running JVM.

use crate::support::{
    Jdk, Program, Report, RunningCommand, Wait, err, info, on_jdks, out, pending, run, stdout_of,
    text, tyrion, wait_for, waits,
};
use serde_json::Value;
use std::{path::Path, process::Command, time::Duration};
use tempfile::TempDir;

on_jdks!(attached_to_a_running_jvm: newest, everywhere all);
on_jdks!(switched_on_after_a_start: one);
on_jdks!(stop_without_an_agent: one);
on_jdks!(jvms_are_listed: one);

/// A command about a process, with its answer in JSON.
fn ask(command: &str, pid: u32, more: &[&str]) -> Value {
    let text = stdout_of(tyrion().args([command, "--json"]).args(more).arg(pid.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn contentions(log: &Path) -> u64 {
    info(log)["totals"]["contentions"].as_u64().unwrap()
}

/// How long a log lasts, how long of that recording was on, and the share of
/// their time that threads lost to waits.
fn overview(log: &Path) -> (u64, u64, f64) {
    let report = Report::of(log);
    let overview = report.section("overview");
    let number = |key: &str| overview[key].as_u64().unwrap();
    (number("duration_ns"), number("recorded_ns"), overview["lost_share"].as_f64().unwrap())
}

/// A JVM without an agent, in the background.
pub fn unrecorded(jdk: &Jdk) -> RunningCommand {
    busy(jdk, |program, _| {
        let line = program.command_line();
        let mut java = Command::new(&line[0]);
        java.args(&line[1..]);
        java
    })
}

/// A program that nobody records, in the background.
pub fn start_unrecorded(program: &Program, folder: TempDir) -> RunningCommand {
    let log = folder.path().join("attached.log");
    let line = program.command_line();
    RunningCommand::of(Command::new(&line[0]).args(&line[1..]), folder, log)
}

/// Something to record, in the background.
fn busy(jdk: &Jdk, command: impl FnOnce(&Program, &Path) -> Command) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("attached.log");
    // Longer than any test takes: it is killed at the end.
    let program = Program::truth(jdk, "storm 600 lock");
    let mut running = RunningCommand::of(&mut command(&program, &log), folder, log);
    // A JVM that is still starting cannot be attached to.
    running.await_line("raging");
    running.log = running.log.canonicalize().unwrap_or(running.log.clone());
    running
}

fn attached_to_a_running_jvm(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let (pid, log) = (running.id(), running.log.clone());
    assert_eq!(ask("status", pid, &[])["state"], "not loaded");
    let answer = ask("attach", pid, &["-o", text(&log), "--threshold=0"]);
    assert_eq!((&answer["state"], &answer["log"]), (&"recording".into(), &text(&log).into()));
    std::thread::sleep(Duration::from_millis(1000));
    await_more_than(0, &log);
    assert_eq!(ask("status", pid, &[])["state"], "recording");
    assert_eq!(ask("stop", pid, &[])["state"], "paused");
    // What was under way ends whenever the thread runs again.
    wait_for("end of waits", || {
        pending(&log).iter().all(|wait| !is_of_the_storm(wait)).then_some(())
    });
    let stopped = contentions(&log);
    check_waits(&log);
    let (length_ns, recorded_ns, lost) = overview(&log);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(contentions(&log), stopped, "recorded after the stop");
    let later = overview(&log);
    assert!(later.0 >= length_ns + 700_000_000, "{length_ns} {later:?}");
    assert_eq!(later.1, recorded_ns, "nothing was");
    assert!((later.2 - lost).abs() < 1e-9 && lost > 0.1, "{lost} {later:?}");

    let answer = ask("attach", pid, &["--threshold=1ms"]);
    assert_eq!(
        (&answer["state"], &answer["threshold_ns"]),
        (&"recording".into(), &1_000_000.into())
    );
    await_more_than(stopped, &log);
    check_stderr(&running, jdk);
}

fn is_of_the_storm(wait: &Wait) -> bool {
    wait.thread.starts_with("storm-") && wait.kind == "lock"
}

/// Waits until so many waits, and more, are recorded.
fn await_more_than(count: u64, log: &Path) {
    wait_for("waits", || (contentions(log) > count).then_some(()));
}

/// Waits of both layers: the probes in j.u.c. are there when attached.
fn check_waits(log: &Path) {
    let waits = waits(log);
    let storm = waits.iter().find(|wait| is_of_the_storm(wait));
    let storm = storm.unwrap_or_else(|| panic!("{:?}", waits.first()));
    assert!(storm.stack.iter().any(|frame| frame.contains("(Storm.java:")), "{storm:?}");
}

/// The JVM itself warns from 21 on; we say nothing.
fn check_stderr(running: &RunningCommand, jdk: &Jdk) {
    let stderr = running.stderr();
    let warned = stderr.lines().all(|line| line.starts_with("WARNING: "));
    assert!(warned && (jdk.major >= 21 || stderr.is_empty()), "{stderr}");
}

fn stop_without_an_agent(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let output = run(["stop", &running.id().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(err(&output), "tyrion: the agent is not loaded\n");
    // Who asked was told; the program's own streams are not the place.
    assert_eq!(running.stderr(), "");
}

fn switched_on_after_a_start(jdk: &Jdk) {
    let running =
        busy(jdk, |program, log| program.clone().option("--enabled=false").record_command(log));
    let (pid, log) = (running.jvm(), running.log.clone());
    assert_eq!(ask("status", pid, &[])["state"], "paused");
    assert_eq!(contentions(&log), 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ask("attach", pid, &[])["state"], "recording");
    await_more_than(0, &log);
    let (length_ns, recorded_ns, _) = overview(&log);
    // So long at least, it was not recorded.
    assert!(recorded_ns + 300_000_000 <= length_ns, "{recorded_ns} of {length_ns}");
    assert_eq!(running.stderr(), "");
}

#[test]
fn what_is_no_jvm_is_named() {
    let own = std::process::id().to_string();
    for command in ["attach", "stop", "status"] {
        let output = run([command, &own]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(err(&output).contains("not a JVM"), "{command}: {}", err(&output));
        let output = run([command, "4194304"]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(err(&output).contains("no process 4194304"), "{command}: {}", err(&output));
        assert!(out(&output).is_empty(), "{command}");
    }
}

/// A JVM that is recorded, by what `list` says of it.
fn jvms_are_listed(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock lock others").start();
    running.await_line("deadlocked");
    let all: Value = serde_json::from_str(&stdout_of(tyrion().args(["list", "--json"]))).unwrap();
    let jvms = all["jvms"].as_array().unwrap();
    let own = jvms.iter().find(|it| it["pid"] == running.jvm()).unwrap();
    assert_eq!(own["program"], "tyrion.truth.Truth");
    assert_eq!(own["has_agent"], true);
    assert_eq!(own["log"], running.log.to_str().unwrap());
    let major = own["jdk"].as_str().unwrap().split('.').next().unwrap();
    assert_eq!(major, jdk.major.to_string(), "{own}");
    let text = stdout_of(tyrion().arg("list"));
    assert!(text.starts_with("PID"), "{text}");
    running.kill_jvm();
}
