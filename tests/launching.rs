//! `tyrion record` and its ways to a JVM: statuses, signals, wrappers, and
//! nothing of ours on the program's streams.

use crate::support::{
    Jdk, Program, RunningCommand, agent, beside_others, classes, err, info, on_jdks, ours, out,
    output, text, tyrion, waits,
};
use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

on_jdks!(statuses: one);
on_jdks!(signals: ends, everywhere three);
on_jdks!(wrappers: one, everywhere two);
on_jdks!(child_jvms: one);
on_jdks!(tool_options_of_the_users: one);
on_jdks!(bad_agent_options: one, everywhere three);
on_jdks!(agent_path_by_hand: one);
on_jdks!(excluded_and_paused: one);

/// A folder to record in.
struct LaunchFolder {
    folder: TempDir,
    path: OsString,
}

impl LaunchFolder {
    /// With the JDK's `java` first on the PATH.
    fn new(jdk: &Jdk) -> LaunchFolder {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(jdk.bin()).chain(std::env::split_paths(&before));
        LaunchFolder {
            folder: tempfile::tempdir().unwrap(),
            path: std::env::join_paths(folders).unwrap(),
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("test.log")
    }

    fn command(&self, command: &[&str]) -> Command {
        let mut record = tyrion();
        record.current_dir(&self.folder).env("PATH", &self.path);
        record.args(["record", "-o", "test.log", "--"]).args(command);
        record
    }

    fn record(&self, command: &[&str]) -> Output {
        let _turn = beside_others();
        output(&mut self.command(command))
    }

    /// A script that runs a scenario with a `java`.
    fn script(&self, java: &str, scenario: &str) -> PathBuf {
        let script = self.folder.path().join("run.sh");
        let classes = classes();
        let line = format!(
            "#!/bin/sh\nexec {java} -cp {} tyrion.truth.Truth {scenario}\n",
            text(&classes)
        );
        std::fs::write(&script, line).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        script
    }

    fn logs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let mut logs: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|it| it == "log")).collect();
        logs.sort();
        logs
    }
}

/// The one wait that `holder-monitor` stages is in the log.
fn check_holder(log: &Path) {
    let waits = waits(log);
    assert!(
        waits.iter().any(|wait| wait.kind == "monitor" && wait.thread == "waiter"),
        "{waits:?}"
    );
}

fn statuses(jdk: &Jdk) {
    let place = LaunchFolder::new(jdk);
    let classes = classes();
    let java = ["java", "-cp", text(&classes), "tyrion.truth.Truth"];
    for (arguments, status, said) in [
        (&["exit", "0", "a b", "--", "-o"][..], 0, "a b\n--\n-o\n"),
        (&["exit", "42"], 42, ""),
        (&["exit", "255"], 255, ""),
        (&["nonsense"], 2, ""),
    ] {
        let output = place.record(&[&java[..], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{}", err(&output));
        assert_eq!(out(&output), said);
        assert_eq!(
            ours(&err(&output)).iter().filter(|line| line.starts_with("tyrion: ")).count(),
            0
        );
    }
    for (command, status) in [(text(place.folder.path()), 126), ("no-such-command", 127)] {
        let output = place.record(&[command]);
        assert_eq!(output.status.code(), Some(status), "{}", err(&output));
        let stderr = err(&output);
        assert!(stderr.contains(command), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "one line says it: {stderr}");
    }
}

fn signals(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "signal").start();
    running.await_line("ready");
    running.signal(running.id(), "TERM");
    let output = running.finish();
    assert_eq!(output.status.code(), Some(128 + 15), "{}", err(&output));
    assert_eq!(out(&output), "ready\nhook ran\n");
    assert_eq!(err(&output), "");
    assert_eq!(info(&running.log)["complete"], true, "an end in order");
}

fn wrappers(jdk: &Jdk) {
    let classes = classes();
    let holder = ["-cp", text(&classes), "tyrion.truth.Truth", "holder-monitor"];
    let java = jdk.java();
    let absolute = text(&java);
    for (what, wrapper) in [
        ("java", &["java"][..]),
        ("java by its path", &[absolute]),
        ("taskset", &["taskset", "-c", "0,1", "java"]),
        ("env and nice", &["env", "A=b", "nice", "java"]),
    ] {
        let place = LaunchFolder::new(jdk);
        let output = place.record(&[wrapper, &holder[..]].concat());
        assert!(output.status.success(), "{what}: {}", err(&output));
        assert_eq!(err(&output), "", "{what}");
        assert_eq!(out(&output).lines().count(), 1, "{what}: {}", out(&output));
        check_holder(&place.log());
    }
    script_with_java_from_the_path(jdk);
    script_with_java_by_its_path(jdk);
}

fn script_with_java_from_the_path(jdk: &Jdk) {
    let place = LaunchFolder::new(jdk);
    place.script("java", "holder-monitor");
    for command in [&["sh", "run.sh"][..], &["./run.sh"]] {
        let output = place.record(command);
        assert!(output.status.success(), "{command:?}: {}", err(&output));
        assert_eq!(err(&output), "", "{command:?}: not a word of ours");
        assert_eq!(out(&output).lines().count(), 1, "{command:?}: {}", out(&output));
        check_holder(&place.log());
    }
}

/// Only the environment leads there, and the JVM says that it read it.
fn script_with_java_by_its_path(jdk: &Jdk) {
    let place = LaunchFolder::new(jdk);
    place.script(text(&jdk.java()), "holder-monitor");
    let output = place.record(&["./run.sh"]);
    assert!(output.status.success(), "{}", err(&output));
    let stderr = err(&output);
    let others: Vec<&str> =
        stderr.lines().filter(|line| !line.starts_with("Picked up JAVA_TOOL_OPTIONS: ")).collect();
    assert_eq!(others, [""; 0]);
    assert_eq!(out(&output).lines().count(), 1, "{}", out(&output));
    check_holder(&place.log());
}

fn child_jvms(jdk: &Jdk) {
    let classes = classes();
    for command in
        [&["java", "-cp", text(&classes), "tyrion.truth.Truth", "spawn"][..], &["sh", "run.sh"]]
    {
        let place = LaunchFolder::new(jdk);
        place.script("java", "spawn");
        let output = place.record(command);
        assert!(output.status.success(), "{command:?}: {}", err(&output));
        let last = out(&output).lines().last().unwrap().to_owned();
        let said: serde_json::Value = serde_json::from_str(&last).unwrap();
        assert_eq!(said["child_exit"], 0);
        let logs = place.logs();
        let mut pids: Vec<u64> =
            logs.iter().map(|log| info(log)["pid"].as_u64().unwrap()).collect();
        pids.sort_unstable();
        let mut expected = [said["pid"].as_u64().unwrap(), said["child_pid"].as_u64().unwrap()];
        expected.sort_unstable();
        assert_eq!(pids, expected, "{command:?}: a log for each JVM: {logs:?}");
        let child = logs.iter().find(|log| info(log)["pid"] == said["child_pid"]).unwrap();
        check_holder(child);
    }
}

fn tool_options_of_the_users(jdk: &Jdk) {
    let place = LaunchFolder::new(jdk);
    place.script("java", "holder-monitor");
    let option = "-Dof.the.user=yes";
    for command in [
        &["sh", "run.sh"][..],
        &["java", "-cp", text(&classes()), "tyrion.truth.Truth", "holder-monitor"],
    ] {
        let turn = beside_others();
        let output = output(place.command(command).env("JAVA_TOOL_OPTIONS", option));
        drop(turn);
        assert!(output.status.success(), "{}", err(&output));
        // What the JVM says without us, and no more.
        assert_eq!(err(&output), format!("Picked up JAVA_TOOL_OPTIONS: {option}\n"), "{command:?}");
        check_holder(&place.log());
    }
}

/// The agent given to `java` itself, with these options.
fn with_agent(jdk: &Jdk, options: &str) -> Output {
    let agent = format!("-agentpath:{}={options}", text(&agent()));
    let _turn = beside_others();
    let mut java = Command::new(jdk.java());
    java.arg(agent).arg("-cp").arg(classes()).args(["tyrion.truth.Truth", "holder-monitor"]);
    output(&mut java)
}

fn bad_agent_options(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    for bad in ["fiel=x", "threshold=5", "depth=many", "mode=nonsense", "enabled=perhaps"] {
        let options = format!("file={},{bad}", text(&log));
        let output = with_agent(jdk, &options);
        assert!(output.status.success(), "{bad}: {}", err(&output));
        let (stderr, key) = (err(&output), bad.split('=').next().unwrap());
        assert_eq!(stderr.lines().count(), 1, "{bad}: {stderr}");
        assert!(stderr.starts_with("tyrion: ") && stderr.contains(key), "{bad}: {stderr}");
        assert!(!log.exists(), "{bad}: recorded all the same");

        let output = with_agent(jdk, &format!("{options},strict"));
        assert_eq!(output.status.code(), Some(1), "{bad}: strict");
        let stderr = err(&output);
        assert!(stderr.lines().any(|line| line.starts_with("tyrion: ")), "{bad}: {stderr}");
        assert!(!out(&output).contains("holder-monitor"), "{bad}: the program ran");
    }
}

fn agent_path_by_hand(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a,b-%p.log").display().to_string().replace(',', "\\,");
    let output = with_agent(jdk, &format!("file={log},threshold=0"));
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "");
    let written = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let pid = info(&written)["pid"].as_u64().unwrap();
    assert_eq!(written.file_name().unwrap().to_str(), Some(format!("a,b-{pid}.log").as_str()));
    check_holder(&written);
}

fn excluded_and_paused(jdk: &Jdk) {
    let recording =
        Program::truth(jdk, "holder-monitor").option("--exclude-threads=w*r;nobody").record();
    assert!(recording.waits().iter().all(|wait| wait.thread != "waiter"));
    let paused = Program::truth(jdk, "holder-monitor").option("--enabled=false").record();
    assert_eq!(paused.waits().len(), 0);
    let shallow = Program::truth(jdk, "holder-lock").option("--depth=2").record();
    let waits = shallow.contentions();
    let deep = &waits.iter().find(|wait| wait.thread == "waiter").unwrap().stack;
    assert!(deep.len() <= 3, "two frames and a mark: {deep:?}");
    let arguments_told =
        |program: Program| program.record().info()["metadata"].to_string().contains("secret");
    let program = Program::truth(jdk, "exit 0 secret");
    assert!(!arguments_told(program.clone()), "they may hold secrets");
    assert!(arguments_told(program.option("--args")));
}

#[test]
fn a_command_without_a_jvm_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let mut record = tyrion();
    record.args(["record", "-o", text(&log), "--", "sh", "-c", "exit 3"]);
    let mut running = RunningCommand::of(&mut record, folder, log);
    let output = running.finish();
    assert_eq!(output.status.code(), Some(3));
    let stderr = err(&output);
    assert!(stderr.starts_with("tyrion: no JVM was recorded"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
