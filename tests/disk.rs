//! Logs that cannot be written, or are taken away: the program is unharmed,
//! and one line says why nothing is recorded.

use crate::support::{
    Jdk, Program, Running, Tmpfs, agent, err, info, number, on_jdks, ours, out, stdout_of, text,
    tyrion, wait_for,
};
use serde_json::Value;
use std::{
    fs::File,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

on_jdks!(disk_full_on_the_way: one, everywhere two);
on_jdks!(disk_full_from_the_start: one);
on_jdks!(read_only_folder: one);
on_jdks!(no_folder: one);
on_jdks!(deleted_log: one);
on_jdks!(status_tells_why: one);
on_jdks!(truncated_log: one, everywhere two);
on_jdks!(probes_are_switched_off: three);

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
    assert!(line.contains("No space left"), "{line}");
    // What was written until then can be read, and what was not is counted.
    let info = info(&log);
    assert_eq!((&info["state"], &info["complete"]), (&"broken".into(), &false.into()));
    assert!(info["events"].as_u64() > Some(0));
    for layer in ["contention", "other"] {
        let count = |key: &str| info["callbacks"][layer][key].as_u64().unwrap();
        assert_eq!(count("ended"), count("recorded") + count("folded") + count("dropped"));
    }
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
fn disturbed(jdk: &Jdk, disturb: impl FnOnce(&Path)) -> (Running, Output) {
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
    let attach = tyrion().args(["attach", &pid]).output().unwrap();
    assert_eq!(attach.status.code(), Some(1));
    assert!(err(&attach).contains("(the file was deleted)"), "{}", err(&attach));
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
