//! Beside a debugger that stops threads, wherever they are: in the middle of Tyrion's
//! probes, too.

use crate::support::{
    AcquisitionSum, DEBUGGING, Debugger, Jdk, Program, Recording, RunningCommand, assert_close,
    err, on_jdks, output, text, tyrion, wait_for,
};
use std::{path::Path, time::Duration};
use tempfile::TempDir;

on_jdks!(all_threads: everywhere two);
on_jdks!(single_threads: everywhere two);
on_jdks!(commands_meanwhile: everywhere two);

/// A program that goes on until it is told to end, with a debugger.
struct SuspendedProgram {
    running: RunningCommand,
    debugger: Debugger,
    folder: TempDir,
}

impl SuspendedProgram {
    fn start(program: Program) -> SuspendedProgram {
        let folder = tempfile::tempdir().unwrap();
        let property = |name: &str| {
            let file = folder.path().join(name);
            format!("-Dtruth.{name}={}", text(&file))
        };
        let program = program.flag(DEBUGGING.to_owned());
        let running = program.flag(property("counters")).flag(property("until")).start();
        let debugger = Debugger::connect(&running);
        running.await_line("raging");
        SuspendedProgram { running, debugger, folder }
    }

    /// The program's counter of this number, as it is now.
    fn counter(&self, nth: usize) -> u64 {
        read_counter(&self.folder.path().join("counters"), nth)
    }

    /// Waits until a counter has grown.
    fn await_progress(&self, nth: usize) {
        let enough = self.counter(nth) + 3;
        wait_for("progress", || (self.counter(nth) >= enough).then_some(()));
    }

    fn end(self) -> Recording {
        std::fs::write(self.folder.path().join("until"), "").unwrap();
        self.running.into_recording()
    }
}

fn read_counter(file: &Path, nth: usize) -> u64 {
    let counters = std::fs::read(file).unwrap();
    u64::from_le_bytes(counters[8 * nth..][..8].try_into().unwrap())
}

/// The whole storm stands still for a while, several times.
fn all_threads(jdk: &Jdk) {
    let mut subject = SuspendedProgram::start(Program::truth(jdk, "storm 600 monitor").traced());
    for _ in 0..10 {
        subject.await_progress(0);
        subject.debugger.suspend_all();
        let before = subject.counter(0);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(subject.counter(0), before, "it was to be suspended");
        subject.debugger.resume_all();
    }
    let recording = subject.end();
    let taken: AcquisitionSum = recording.traced().taken("tyrion.truth.Storm$MonitorHammer");
    assert_eq!(taken.acquisitions, recording.number("total_acquisitions"));
    let contentions = recording.contentions().into_iter();
    let of_storm = contentions.filter(|wait| wait.thread.starts_with("storm-"));
    let counted: u64 = of_storm.map(|wait| wait.count).sum();
    let blocked = recording.number("total_blocked_count");
    // The JVM counts some that it has not told of, and the other way round.
    assert_close("contentions", counted, blocked, blocked / 100 + 2);
}

/// A thread is stopped while it describes the lock that it waits for: others, which have
/// nothing to do with it, must not have to wait.
fn single_threads(jdk: &Jdk) {
    for mode in ["contention", "trace"] {
        let program = Program::truth(jdk, "fresh-locks 2").option(&format!("--mode={mode}"));
        let mut subject = SuspendedProgram::start(program);
        let takers = ["taker-1", "taker-2"].map(|name| subject.debugger.thread(name));
        for round in 0..200 {
            let (stopped, other) = (round % 2, 1 - round % 2);
            subject.await_progress(stopped);
            subject.debugger.suspend(takers[stopped]);
            subject.await_progress(other);
            subject.debugger.resume(takers[stopped]);
        }
        let recording = subject.end();
        let taken: u64 =
            recording.said["taken"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
        let waits = recording.contentions().into_iter();
        let of_takers = waits.filter(|wait| wait.thread.starts_with("taker-"));
        assert_eq!(of_takers.map(|wait| wait.count).sum::<u64>(), taken, "{mode}");
    }
}

/// Commands for a JVM that stands still end, and say why.
fn commands_meanwhile(jdk: &Jdk) {
    let mut subject = SuspendedProgram::start(Program::truth(jdk, "storm 600 lock"));
    let pid = subject.running.jvm().to_string();
    subject.debugger.suspend_all();
    for command in ["status", "stop"] {
        let done = output(tyrion().args([command, &pid]));
        assert!(!done.status.success(), "{command}");
        assert!(err(&done).contains("does not answer"), "{command}: {}", err(&done));
    }
    subject.debugger.resume_all();
    subject.await_progress(0);
    // It may have been stopped by now, or have forgotten what it was asked.
    wait_for("answer", || output(tyrion().args(["status", &pid])).status.success().then_some(()));
    let done = output(tyrion().args(["attach", &pid]));
    assert!(done.status.success(), "{}", err(&done));
    subject.end();
}
