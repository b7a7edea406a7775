//! Logs that cannot be written, or are taken away: the program is unharmed,
//! and one line says why nothing is recorded.

use crate::support::{
    Ballast, Jdk, Program, RunningCommand, Tmpfs, TraceLog, Wait, agent, err, info, list, number,
    on_jdks, ours, out, stdout_of, text, tyrion, wait_for, waits,
};
use serde_json::Value;
use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

on_jdks!(disk_full_on_the_way: one, everywhere two);
on_jdks!(room_again: everywhere two);
on_jdks!(room_again_in_another_file: one);
on_jdks!(room_is_not_awaited_after_a_stop: everywhere one);
on_jdks!(disk_full_from_the_start: one);
on_jdks!(read_only_folder: one);
on_jdks!(no_folder: one);
on_jdks!(deleted_log: one);
on_jdks!(status_tells_why: one);
on_jdks!(truncated_log: one, everywhere two);
on_jdks!(probes_are_switched_off: ends, everywhere three);

/// The program ended well, and one line of ours names the log.
fn check_unharmed(output: &Output, log: &Path) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    let lines = ours(&stderr);
    let [line] = lines[..] else { panic!("{stderr}") };
    assert!(line.starts_with("tyrion: ") && line.contains(log.to_str().unwrap()), "{line}");
    assert!(out(output).lines().last().unwrap().starts_with('{'), "{}", out(output));
    line.to_owned()
}

/// A program that writes as much as can be.
fn storm(jdk: &Jdk, seconds: u32) -> Program {
    let program = Program::truth(jdk, &format!("storm {seconds} monitor"));
    program.pinned().option("--threshold=0")
}

fn record_at(program: &Program, log: &Path) -> Output {
    let folder = tempfile::tempdir().unwrap();
    program.start_at(log.to_owned(), folder).finish()
}

/// As somebody who names the agent by hand: `tyrion record` looks first.
fn run_with_agent(program: &Program, log: &Path) -> Output {
    let line = program.command_line();
    let option = format!("-agentpath:{}=file={}", text(&agent()), text(log));
    Command::new(&line[0]).arg(option).args(&line[1..]).output().unwrap()
}

fn disk_full_on_the_way(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("12m") else { return };
    let log = disk.path().join("full.log");
    // Each of the threads gets a chunk of 4 KiB, and the file grows before it is
    // full. To end twice as many, the JVM alone may take a minute.
    let threads = Program::truth(jdk, "appends 1800 100").option("--threshold=0");
    let line = check_unharmed(&record_at(&threads, &log), &log);
    assert!(line.contains("No space left") && line.contains("recording pauses"), "{line}");
    // What was written until then can be read, and what was not is counted.
    let info = info(&log);
    assert_eq!((&info["state"], &info["complete"]), (&"closed".into(), &true.into()));
    assert!(info["events"].as_u64() > Some(0));
    check_counts(&info);
    // The rest of the log is a pause.
    let [pause] = list(&info, "pauses") else { panic!("{info}") };
    let ends_ns = number(pause, "start_ns") + number(pause, "duration_ns");
    assert_eq!(ends_ns, number(&info, "duration_ns"));
}

/// What ended is there, or was counted as dropped.
fn check_counts(info: &Value) {
    for layer in ["contention", "other"] {
        let count = |key: &str| info["callbacks"][layer][key].as_u64().unwrap();
        assert_eq!(count("ended"), count("recorded") + count("folded") + count("dropped"));
    }
}

/// A `room` scenario under way, on a disk that has just been filled up.
struct FullDiskProgram {
    disk: Tmpfs,
    running: RunningCommand,
    steps: PathBuf,
}

impl FullDiskProgram {
    /// Recorded in trace mode, with these options, until it pauses.
    fn start(jdk: &Jdk, disk: Tmpfs, options: &[&str]) -> (FullDiskProgram, Ballast) {
        let folder = tempfile::tempdir().unwrap();
        let steps = folder.path().to_owned();
        let program = Program::truth(jdk, &format!("room {}", text(&steps))).traced();
        let program = options.iter().fold(program.option("--threshold=0"), |it, o| it.option(o));
        let running = program.start_at(disk.path().join("full.log"), folder);
        running.await_line("ready");
        let cramped = FullDiskProgram { disk, running, steps };
        let ballast = cramped.disk.fill();
        cramped.take_step("crowd");
        cramped.await_message("recording pauses until there is room");
        (cramped, ballast)
    }

    fn take_step(&self, step: &str) {
        File::create(self.steps.join(step)).unwrap();
        self.running.await_line(step);
    }

    fn await_message(&self, message: &str) {
        wait_for(message, || self.running.stderr().contains(message).then_some(()));
    }

    fn pid(&self) -> String {
        self.running.jvm().to_string()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&stdout_of(tyrion().args(["status", "--json", &self.pid()]))).unwrap()
    }

    fn attach(&self) -> Output {
        tyrion().args(["attach", &self.pid()]).output().unwrap()
    }

    /// Lets the program end, unharmed: what was said on the way.
    fn finish(&mut self) -> Vec<String> {
        let output = self.running.finish();
        let stderr = err(&output);
        assert!(output.status.success(), "{}\n{stderr}", output.status);
        assert!(out(&output).lines().last().unwrap().starts_with('{'), "{}", out(&output));
        ours(&stderr).into_iter().map(str::to_owned).collect()
    }

    /// The files of the log.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.disk.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = paths.filter(|path| !path.ends_with("ballast")).collect();
        files.sort();
        files
    }

    /// How often a thread of this name took its own monitor, and how many waited beside
    /// it, by all files.
    fn counted(&self, step: &str) -> (u64, usize) {
        let waiter = format!("{step}-waiter");
        let (mut taken, mut waited) = (0, 0);
        for file in self.files() {
            let info = info(&file);
            assert_eq!((&info["complete"], &info["damage"]), (&true.into(), &Value::Array(vec![])));
            check_counts(&info);
            let threads = TraceLog::of(&file).taken_by_thread("tyrion.truth.Room$Late");
            taken += threads.get(step).map_or(0, |taken| taken.acquisitions);
            let waits = waits(&file);
            let of_step = |wait: &&Wait| {
                wait.thread == waiter && wait.is_contention() && !wait.is_of_the_jvm()
            };
            waited += waits.iter().filter(of_step).count();
        }
        (taken, waited)
    }

    /// The pauses by all files.
    fn pauses(&self) -> Vec<Value> {
        self.files().iter().flat_map(|file| list(&info(file), "pauses").to_vec()).collect()
    }
}

/// The program's own figures.
const STEP: (u64, usize) = (100_000, 8);

fn room_again(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("24m") else { return };
    let (mut cramped, ballast) = FullDiskProgram::start(jdk, disk, &[]);
    let began = Instant::now();
    let status = cramped.status();
    assert_eq!((&status["state"], &status["mode"]), (&"paused".into(), &"trace".into()));
    assert!(status["reason"].as_str().unwrap().contains("No space left"), "{status}");
    let refused = cramped.attach();
    assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
    let reason = err(&refused);
    assert!(reason.contains("there is no room for the log (No space left"), "{reason}");
    cramped.take_step("meanwhile");
    let at_least_ns = began.elapsed().as_nanos() as u64;
    drop(ballast);
    cramped.await_message("there is room again, recording goes on");
    let status = cramped.status();
    assert_eq!((&status["state"], &status["reason"]), (&"recording".into(), &Value::Null));
    cramped.take_step("after");
    let lines = cramped.finish();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(cramped.counted("meanwhile"), (0, 0));
    assert_eq!(cramped.counted("after"), STEP);
    let pauses = cramped.pauses();
    let [pause] = &pauses[..] else { panic!("{pauses:?}") };
    assert!(number(pause, "duration_ns") >= at_least_ns, "{pause}");
    let log = cramped.running.log.clone();
    let told = stdout_of(tyrion().arg("info").arg(&log));
    let row = told.lines().find(|line| line.starts_with("pauses ")).unwrap();
    assert!(row.contains(" from "), "{row}");
    let report = stdout_of(tyrion().args(["report", "--section", "overview"]).arg(&log));
    assert!(report.contains("were recorded"), "{report}");
}

/// The next file cannot be made, nor can this one grow; then somebody attaches. Files
/// that are cut on the way may make room for a while.
fn room_again_in_another_file(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("24m") else { return };
    let options = ["--filesize=1m", "--filecount=100"];
    let (mut cramped, ballast) = FullDiskProgram::start(jdk, disk, &options);
    cramped.take_step("meanwhile");
    drop(ballast);
    let attached = cramped.attach();
    assert!(attached.status.success(), "{}", err(&attached));
    assert_eq!(cramped.status()["state"], "recording");
    cramped.take_step("after");
    let lines = cramped.finish();
    let told = ["recording pauses until there is room", "there is room again, recording goes on"];
    assert!(lines.len().is_multiple_of(2), "{lines:?}");
    let is_next = |(line, told): (&String, &&str)| line.contains(told);
    assert!(lines.iter().zip(told.iter().cycle()).all(is_next), "{lines:?}");
    assert_eq!(cramped.counted("after"), STEP);
    assert!(!cramped.pauses().is_empty());
}

/// Room does not switch on what the user has switched off meanwhile.
fn room_is_not_awaited_after_a_stop(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("24m") else { return };
    let (mut cramped, ballast) = FullDiskProgram::start(jdk, disk, &[]);
    let stopped = tyrion().args(["stop", &cramped.pid()]).output().unwrap();
    assert!(stopped.status.success(), "{}", err(&stopped));
    assert_eq!(cramped.status()["reason"], Value::Null);
    let refused = cramped.attach();
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("try again when there is"), "{}", err(&refused));
    let allocated = || std::fs::metadata(&cramped.running.log).unwrap().len();
    let before = allocated();
    drop(ballast);
    // The file grows, and that is all.
    wait_for("room", || (allocated() > before).then_some(()));
    cramped.take_step("meanwhile");
    assert_eq!(cramped.status()["state"], "paused");
    let attached = cramped.attach();
    assert!(attached.status.success(), "{}", err(&attached));
    cramped.take_step("after");
    assert_eq!(cramped.finish().len(), 1);
    assert_eq!(cramped.counted("meanwhile"), (0, 0));
    assert_eq!(cramped.counted("after"), STEP);
    assert_eq!(cramped.pauses().len(), 1);
}

fn disk_full_from_the_start(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("1m") else { return };
    let log = disk.path().join("full.log");
    let line = check_unharmed(&record_at(&storm(jdk, 1), &log), &log);
    assert!(line.contains("No space left"), "{line}");
}

fn read_only_folder(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("1m") else { return };
    disk.set_read_only();
    let log = disk.path().join("test.log");
    let line = check_unharmed(&run_with_agent(&Program::truth(jdk, "holder-monitor"), &log), &log);
    assert!(line.contains("Read-only file system"), "{line}");
}

fn no_folder(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("no/such/test.log");
    let line = check_unharmed(&run_with_agent(&Program::truth(jdk, "holder-monitor"), &log), &log);
    assert!(line.contains("No such file"), "{line}");
}

/// Starts a storm and does something to its log on the way. It goes on until
/// that was told, and a little longer.
fn disturbed(jdk: &Jdk, disturb: impl FnOnce(&Path)) -> (RunningCommand, Output) {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let log = folder.path().join("test.log");
    let program = storm(jdk, 200).flag(format!("-Dtruth.until={}", until.display()));
    let mut running = program.start_at(log, folder);
    running.await_line("raging");
    let contentions = || number(&info(&running.log)["totals"], "contentions");
    wait_for("contention", || (contentions() > 1000).then_some(()));
    disturb(&running.log);
    wait_for("line", || (!ours(&running.stderr()).is_empty()).then_some(()));
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(until, "").unwrap();
    let output = running.finish();
    (running, output)
}

fn deleted_log(jdk: &Jdk) {
    let (running, output) = disturbed(jdk, |log| std::fs::remove_file(log).unwrap());
    check_unharmed(&output, &running.log);
}

/// Whoever comes later can read no line on its stderr.
fn status_tells_why(jdk: &Jdk) {
    let program = Program::truth(jdk, "storm 60 lock").option("--mode=trace+sample");
    let running = program.start();
    running.await_line("raging");
    let pid = running.jvm().to_string();
    let status = || -> Value {
        serde_json::from_str(&stdout_of(tyrion().args(["status", "--json", &pid]))).unwrap()
    };
    let before = status();
    assert_eq!((&before["mode"], &before["reason"]), (&"trace+sample".into(), &Value::Null));
    std::fs::remove_file(&running.log).unwrap();
    // Sampling ends a moment after that.
    let is_over = |it: &Value| !it["reason"].is_null() && it["sampling"] == "off";
    let after = wait_for("reason", || Some(status()).filter(is_over));
    assert_eq!(after["state"], "broken");
    assert_eq!((&after["mode"], &after["sampling"]), (&"trace+sample".into(), &"off".into()));
    assert_eq!(after["reason"], "the file was deleted");
    stdout_of(tyrion().args(["attach", &pid]));
    let again = status();
    assert_eq!((&again["state"], &again["reason"]), (&"recording".into(), &Value::Null));
}

fn truncated_log(jdk: &Jdk) {
    let (running, output) = disturbed(jdk, |log| drop(File::create(log).unwrap()));
    check_unharmed(&output, &running.log);
    let info = tyrion().arg("info").arg(&running.log).output().unwrap();
    assert!(matches!(info.status.code(), Some(1 | 3)), "{}", info.status);
}

/// Else each new place would look for room in a log that has none.
fn probes_are_switched_off(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truncated.log");
    let program = Program::truth(jdk, &format!("probes {}", text(&log))).traced();
    let opens = "--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned();
    let output = record_at(&program.flag(opens), &log);
    check_unharmed(&output, &log);
    let said: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
    assert_eq!((&said["before"], &said["after"]), (&true.into(), &false.into()));
}
