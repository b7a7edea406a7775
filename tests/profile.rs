//! `tyrion profile`, and JVMs that are chosen by what they run.

use crate::{
    attaching::start_unrecorded,
    support::{
        Jdk, Program, RunningCommand, Wait, beside_others, classes, err, finish, info, on_jdks,
        out, output, run, stdout_of, text, tyrion, wait_for, waits,
    },
};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

on_jdks!(until_interrupted: ends, everywhere three);
on_jdks!(until_the_jvm_ends: one);
on_jdks!(once_more_and_beside_a_recording: one);
on_jdks!(of_a_command: one);
on_jdks!(several_of_a_name: one);
on_jdks!(for_scripts: one);

/// A storm that has this word among its arguments, which no other JVM has.
fn storm(jdk: &Jdk, word: &str) -> RunningCommand {
    let program = Program::truth(jdk, &format!("storm 600 lock {word}"));
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    running.await_line("raging");
    running
}

/// Tests of several JDKs run at once, and none must see another's JVM.
fn word(jdk: &Jdk, name: &str) -> String {
    format!("{name}-on-{}-of-test-{}", jdk.major, std::process::id())
}

/// A folder to profile in, with a desktop that writes down what is opened.
struct ProfileFolder {
    folder: TempDir,
    path: std::ffi::OsString,
}

impl ProfileFolder {
    fn new() -> ProfileFolder {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let opener = bin.join("xdg-open");
        // Written in one piece, so that a reader never sees half of it.
        fs::write(&opener, "#!/bin/sh\necho \"$1\" > opened.new && mv opened.new opened\n")
            .unwrap();
        fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(bin).chain(std::env::split_paths(&before));
        ProfileFolder { path: std::env::join_paths(folders).unwrap(), folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn profile(&self, arguments: &[&str]) -> Command {
        let mut profile = tyrion();
        profile.arg("profile").args(arguments).current_dir(&self.folder);
        profile.env("PATH", &self.path).env("DISPLAY", ":77").env_remove("WAYLAND_DISPLAY");
        profile
    }

    /// In the background.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut profile = self.profile(arguments);
        profile.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The page, which is one.
    fn page(&self, name: &str) -> String {
        let page = fs::read_to_string(self.file(name)).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page:.300}");
        page
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "bin").collect();
        names.sort();
        names
    }
}

fn status(name: &str) -> Value {
    serde_json::from_str(&stdout_of(tyrion().args(["status", "--json", name]))).unwrap()
}

/// Waits until a log tells of the storm's waits for its lock. Those that were under
/// way when the agent came may be of no time at all, and are in no picture.
fn await_contention(log: &Path) {
    let is_of_the_storm =
        |wait: &Wait| wait.thread.starts_with("storm-") && wait.kind == "lock" && wait.wait_ns > 0;
    wait_for("log", || {
        tyrion().arg("info").arg(log).output().unwrap().status.success().then_some(())
    });
    wait_for("contention", || waits(log).iter().any(is_of_the_storm).then_some(()));
}

/// The beginning of a report on the storm's lock.
#[track_caller]
fn check_printed(printed: &str) {
    for part in ["Overview\n", "\nContended locks\n", "Storm"] {
        assert!(printed.contains(part), "no {part:?}:\n{printed}");
    }
    assert!(!printed.contains("\nTimeline\n"), "no more than the beginning:\n{printed}");
}

fn until_interrupted(jdk: &Jdk) {
    let word = word(jdk, "interrupted");
    let running = storm(jdk, &word);
    let place = ProfileFolder::new();
    let profile = place.start(&[&word, "--duration=10m", "--threshold=0", "--to=collapsed"]);
    let log = place.file(&format!("tyrion-{}.log", running.id()));
    await_contention(&log);
    running.signal(profile.id(), "INT");
    let profile = finish(profile);
    assert!(profile.status.success(), "{}: {}", profile.status, err(&profile));
    check_printed(&out(&profile));
    assert!(place.page("report.html").contains("id=\"contended\""));
    let collapsed = fs::read_to_string(place.file("waits.collapsed")).unwrap();
    assert!(collapsed.contains("Storm"), "{collapsed:.300}");
    assert!(err(&profile).contains(&format!("tyrion report {}", text(&log))), "{}", err(&profile));
    // The JVM is not recorded any more, and goes on.
    let told = status(&word);
    assert_eq!((&told["state"], &told["log"]), (&"paused".into(), &text(&log).into()));
    let opened = wait_for("opened page", || fs::read_to_string(place.file("opened")).ok());
    assert_eq!(opened, "report.html\n");
}

fn until_the_jvm_ends(jdk: &Jdk) {
    let word = word(jdk, "ends");
    let mut running = storm(jdk, &word);
    let place = ProfileFolder::new();
    let arguments = [&*word, "--duration=10m", "--threshold=0", "--no-open", "-o", "page.html"];
    let profile = place.start(&arguments);
    await_contention(&place.file(&format!("tyrion-{}.log", running.id())));
    running.signal(running.id(), "TERM");
    assert_eq!(running.finish().status.code(), Some(128 + 15));
    let profile = finish(profile);
    assert!(profile.status.success(), "{}: {}", profile.status, err(&profile));
    assert!(err(&profile).contains("note: the JVM has ended"), "{}", err(&profile));
    check_printed(&out(&profile));
    place.page("page.html");
    assert!(!place.file("report.html").exists() && !place.file("opened").exists());
}

fn once_more_and_beside_a_recording(jdk: &Jdk) {
    let running = storm(jdk, "recorded");
    let (pid, place) = (running.id().to_string(), ProfileFolder::new());
    let shortly = [&*pid, "--duration=200ms", "--no-open"];
    for _ in 0..2 {
        let profile = output(&mut place.profile(&shortly));
        assert!(profile.status.success(), "{}", err(&profile));
        assert_eq!(status(&pid)["state"], "paused");
    }
    // What was recorded earlier is as it was.
    let logs = [format!("tyrion-{pid}-2.log"), format!("tyrion-{pid}.log")];
    let pages = ["report-2.html", "report.html"].map(str::to_owned);
    assert_eq!(place.names(), [&pages[..], &logs].concat());
    let first = info(&place.file(&logs[1]))["totals"].clone();

    stdout_of(tyrion().args(["attach", &pid]));
    let profile = output(&mut place.profile(&shortly));
    assert!(profile.status.success(), "{}", err(&profile));
    assert!(err(&profile).contains("is already being recorded into"), "{}", err(&profile));
    let refused = output(&mut place.profile(&[&shortly[..], &["--mode=trace"]].concat()));
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("profile does not change how"), "{}", err(&refused));
    let told = status(&pid);
    assert_eq!((&told["state"], &told["mode"]), (&"recording".into(), &"contention".into()));
    assert_eq!(info(&place.file(&logs[1]))["totals"], first);
}

fn of_a_command(jdk: &Jdk) {
    let (place, classes) = (ProfileFolder::new(), classes());
    let java = jdk.java();
    let line = [text(&java), "-cp", text(&classes), "tyrion.truth.Truth"];
    let _turn = beside_others();
    let profile = |options: &[&str], command: &[&str]| {
        output(&mut place.profile(&[options, &["--no-open", "--"], command].concat()))
    };
    let held = profile(&["--log=held.log"], &[&line[..], &["holder-monitor"]].concat());
    assert!(held.status.success(), "{}: {}", held.status, err(&held));
    assert!(out(&held).contains("\nContended locks\n"), "{}", out(&held));
    assert!(place.page("report.html").contains("HolderMonitor"));
    assert!(place.file("held.log").exists());
    // Over what is there.
    let failed = profile(&["--log=held.log"], &[&line[..], &["exit", "42"]].concat());
    assert_eq!(failed.status.code(), Some(42), "{}", err(&failed));
    assert!(out(&failed).contains("Overview\n"), "{}", out(&failed));
    assert!(!place.page("report-2.html").contains("HolderMonitor"));
    assert!(place.page("report.html").contains("HolderMonitor"), "it stays");
    for (command, status) in [(&["true"][..], 1), (&["sh", "-c", "exit 3"], 3)] {
        let none = profile(&[], command);
        assert_eq!(none.status.code(), Some(status), "{}", err(&none));
        assert!(err(&none).contains("no JVM was recorded"), "{}", err(&none));
    }
    assert_eq!(profile(&[], &["no-such-command"]).status.code(), Some(127));
}

/// Whoever names nothing sees which JVMs there are; and a report as JSON, with conditions.
fn for_scripts(jdk: &Jdk) {
    let running = storm(jdk, &word(jdk, "scripts"));
    let (pid, place) = (running.id().to_string(), ProfileFolder::new());
    let bare = output(&mut place.profile(&[]));
    assert_eq!(bare.status.code(), Some(2), "{}", out(&bare));
    let said = err(&bare);
    assert!(said.contains("PROGRAM") && said.contains(&pid), "{said}");
    let options = ["-d", "0.5", "--threshold=0", "--no-open", "--packages=tyrion.truth"];
    let more = ["--json", "--fail-if", "contentions > 0", "--junit=locks.xml"];
    let held = output(&mut place.profile(&[&[&*pid], &options[..], &more[..]].concat()));
    assert_eq!(held.status.code(), Some(4), "{}", err(&held));
    assert!(err(&held).contains("condition holds: contentions"), "{}", err(&held));
    let report: Value = serde_json::from_str(&out(&held)).unwrap();
    let contended = report.pointer("/sections/contended").unwrap().to_string();
    assert!(contended.contains("Storm"), "{contended}");
    let junit = fs::read_to_string(place.file("locks.xml")).unwrap();
    assert!(
        junit.contains("classname=\"tyrion.truth.Truth\" name=\"contentions &gt; 0\">"),
        "{junit}"
    );
    // What is on a terminal, for a file.
    let charted = [&[&*pid], &options[..], &["--chart=always"]].concat();
    let charted = stdout_of(&mut place.profile(&charted));
    let chart = charted.find("\nThreads over time\n");
    assert!(chart.is_some() && chart < charted.find("\nOverview\n"), "{charted}");
}

fn several_of_a_name(jdk: &Jdk) {
    let common = word(jdk, "common");
    let (first, second) = (format!("{common}-first"), format!("{common}-second"));
    let running = [storm(jdk, &first), storm(jdk, &second)];
    for command in ["profile", "attach", "sample", "status", "stop", "top"] {
        let output = run([command, &common]);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains(&format!("2 JVMs match '{common}'")), "{command}: {said}");
        for running in &running {
            let listed = said.lines().filter(|line| {
                line.split_whitespace().next() == Some(&running.id().to_string())
                    && line.contains("tyrion.truth.Truth storm 600 lock")
            });
            assert_eq!(listed.count(), 1, "{command}: {said}");
        }
        assert!(out(&output).is_empty());
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("first.log");
    stdout_of(tyrion().args(["attach", &first, "-o", text(&log)]));
    assert_eq!(status(&first)["state"], "recording");
    assert_eq!(status(&second)["state"], "not loaded");
    let frame = stdout_of(tyrion().args(["top", "--once", "--json", "--interval=100ms", &first]));
    let frame: Value = serde_json::from_str(&frame).unwrap();
    assert!(frame.is_object(), "{frame}");
    stdout_of(tyrion().args(["sample", "--once", &first]));
    stdout_of(tyrion().args(["stop", &first]));
    assert_eq!(status(&first)["state"], "paused");
}

#[test]
fn wrong_usage_of_profile() {
    for arguments in [
        &["profile"][..],
        &["profile", "0"],
        &["profile", "1", "--", "java"],
        &["profile", "--duration=5s", "--", "java"],
        &["profile", "1", "-o", "-"],
        &["profile", "1", "--to", "pictures"],
        &["profile", "1", "--period=20ms"],
        &["profile", "no-jvm-is-called-so"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", err(&output));
        assert!(out(&output).is_empty());
    }
    let own = std::process::id().to_string();
    let output = run(["profile", &own]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("not a JVM"), "{}", err(&output));
}
