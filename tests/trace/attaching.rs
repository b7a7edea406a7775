//! Trace mode switched on, off and on again in a JVM that runs.

use super::exactness::check_counts;
use crate::support::{
    AcquisitionSum, Jdk, Program, RunningCommand, TraceLog, err, info, on_jdks, stdout_of, text,
    tyrion, wait_for,
};
use serde_json::Value;
use std::{path::PathBuf, process::Command, time::Duration};

on_jdks!(exact_once_attached: extremes, everywhere all);
on_jdks!(nothing_once_stopped: one, everywhere all);
on_jdks!(exact_once_attached_again: one, everywhere all);
on_jdks!(while_a_class_is_read: one, everywhere all);
on_jdks!(in_the_middle_of_locks: newest, everywhere all);

/// A JVM without an agent.
struct AttachedJvm {
    running: RunningCommand,
    go: PathBuf,
}

impl AttachedJvm {
    /// The program is given the file that lets it go on.
    fn start(program: impl Fn(&str) -> Program) -> AttachedJvm {
        let folder = tempfile::tempdir().unwrap();
        let (go, log) = (folder.path().join("go"), folder.path().join("attached.log"));
        let line = program(text(&go)).command_line();
        let mut java = Command::new(&line[0]);
        java.args(&line[1..]);
        AttachedJvm { running: RunningCommand::of(&mut java, folder, log), go }
    }

    fn attach(&self) {
        self.ask("attach", &["-o", text(&self.running.log), "--mode=trace"], "recording");
    }

    fn stop(&self) {
        self.ask("stop", &[], "paused");
    }

    fn ask(&self, command: &str, more: &[&str], state: &str) {
        let mut ask = tyrion();
        ask.args([command, "--json"]).args(more).arg(self.running.id().to_string());
        let answer: Value = serde_json::from_str(&stdout_of(&mut ask)).unwrap();
        assert_eq!(answer["state"], state, "{answer}");
    }

    /// Lets the scenario begin, and gives what it said at its end.
    fn go(&mut self) -> Value {
        std::fs::write(&self.go, "").unwrap();
        let output = self.running.finish();
        assert!(output.status.success(), "{}", err(&output));
        let stdout = self.running.stdout();
        serde_json::from_str(stdout.lines().last().unwrap()).unwrap()
    }
}

/// The scenario `counts`, waiting to be told to go.
fn counts(jdk: &Jdk) -> AttachedJvm {
    let subject = AttachedJvm::start(|go| {
        Program::truth(jdk, "counts 4 50000").flag(format!("-Dtruth.go={go}"))
    });
    subject.running.await_line("ready");
    subject
}

fn exact_once_attached(jdk: &Jdk) {
    let mut subject = counts(jdk);
    subject.attach();
    let said = subject.go();
    check_counts(&said, &TraceLog::of(&subject.running.log));
    assert_eq!(info(&subject.running.log)["complete"], true);
}

fn while_a_class_is_read(jdk: &Jdk) {
    let subject = AttachedJvm::start(|go| Program::truth(jdk, &format!("half-loaded {go}")));
    subject.running.await_line("half loaded");
    subject.attach();
    std::fs::write(&subject.go, "").unwrap();
    wait_for("an acquisition", || {
        let traced = TraceLog::of(&subject.running.log);
        (!traced.taken_by_thread("tyrion.truth.HalfLoaded$Late").is_empty()).then_some(())
    });
}

fn nothing_once_stopped(jdk: &Jdk) {
    let mut subject = counts(jdk);
    subject.attach();
    subject.stop();
    let said = subject.go();
    let traced = TraceLog::of(&subject.running.log);
    for kind in said["kinds"].as_array().unwrap() {
        let class = kind["class"].as_str().unwrap();
        assert_eq!(traced.taken(class), AcquisitionSum::default(), "{class}");
    }
}

fn exact_once_attached_again(jdk: &Jdk) {
    let mut subject = counts(jdk);
    for _ in 0..3 {
        subject.attach();
        subject.stop();
    }
    subject.attach();
    let said = subject.go();
    check_counts(&said, &TraceLog::of(&subject.running.log));
}

/// Switched on and off while threads hold all kinds of locks, wait, and
/// overflow their stacks: the program's own checks all hold.
fn in_the_middle_of_locks(jdk: &Jdk) {
    let mut subject = AttachedJvm::start(|_| {
        Program::class(jdk, "tyrion.selfcheck.SelfCheck").flag("-Dselfcheck.times=4".to_owned())
    });
    subject.running.await_line("begun");
    for pause_ms in [0, 200, 20, 100, 5] {
        subject.attach();
        std::thread::sleep(Duration::from_millis(300));
        subject.stop();
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
    subject.attach();
    let output = subject.running.finish();
    assert!(output.status.success(), "{}\n{}", subject.running.stdout(), err(&output));
    assert_eq!(subject.running.stdout().lines().last(), Some("OK"));
    assert_eq!(info(&subject.running.log)["complete"], true);
}
