//! Beside others in one JVM: Flight Recorder, JNI's checks, another agent.

mod agents;
mod retransformed;
mod suspended;

use crate::{
    attaching::start_unrecorded,
    outcomes::check_outcomes,
    support::{Jdk, Program, agent, err, on_jdks, out, output, stdout_of, text, tyrion},
    trace::exactness::check_counts,
};
use std::{fs::File, process::Command};

on_jdks!(flight_recorder: newest, everywhere three);
on_jdks!(jni_checks: ends);
on_jdks!(jni_checks_when_attached: ends);
on_jdks!(debugger: one, everywhere two);

/// Recorded by Flight Recorder at the same time, in both modes.
fn flight_recorder(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let flag = |name: &str| {
        let file = folder.path().join(name);
        format!("-XX:StartFlightRecording=settings=profile,filename={}", file.display())
    };
    // The recorder's own threads wait for each other.
    let waits = Program::truth(jdk, "outcomes").option("--exclude-threads=JFR*");
    check_outcomes(&waits.flag(flag("waits.jfr")).record());
    let counts = Program::truth(jdk, "counts 4 30000").traced().flag(flag("counts.jfr")).record();
    check_counts(&counts.said, &counts.traced());
    assert!(folder.path().join("counts.jfr").metadata().unwrap().len() > 10_000);
}

/// JNI's own checks have nothing to say of our calls.
fn jni_checks(jdk: &Jdk) {
    for option in ["--mode=contention", "--mode=trace", "--parks=natives"] {
        let line = checked(jdk).command_line();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let options = option.trim_start_matches('-');
        let mut java = Command::new(&line[0]);
        java.arg(format!("-agentpath:{}=file={},{options}", text(&agent()), text(&log)));
        let done = output(java.args(&line[1..]));
        assert!(done.status.success(), "{option}: {}", err(&done));
        assert_unwarned(option, &[out(&done), err(&done)].concat());
    }
}

/// Nor when the agent comes to a JVM in which many classes and threads are there already.
fn jni_checks_when_attached(jdk: &Jdk) {
    for option in ["--mode=contention", "--mode=trace", "--parks=natives"] {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        let program = checked(jdk).flag(format!("-Dtruth.go={}", text(&go)));
        let mut running = start_unrecorded(&program, folder);
        running.await_line("ready");
        let pid = running.id().to_string();
        stdout_of(tyrion().args(["attach", &pid, option, "-o", text(&running.log)]));
        File::create(go).unwrap();
        let done = running.finish();
        assert!(done.status.success(), "{option}: {}", err(&done));
        assert_unwarned(option, &[running.stdout(), err(&done)].concat());
    }
}

fn checked(jdk: &Jdk) -> Program {
    Program::truth(jdk, "outcomes").flag("-Xcheck:jni".to_owned())
}

/// Calls that are not as JNI has them, and more local references than were announced.
fn assert_unwarned(option: &str, said: &str) {
    let complaints = ["WARNING in native method", "WARNING: JNI", "FATAL ERROR in native method"];
    let is_one = |line: &&str| complaints.iter().any(|complaint| line.contains(complaint));
    let lines: Vec<&str> = said.lines().filter(is_one).collect();
    assert_eq!(lines, [""; 0], "{option}: {said}");
}

/// With the debugger's agent loaded, whose threads and locks are the JVM's own.
fn debugger(jdk: &Jdk) {
    let flag = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0,quiet=y";
    let recording = Program::truth(jdk, "outcomes").flag(flag.to_owned()).record();
    check_outcomes(&recording);
}
