//! Whatever has happened to a log, the next command records into a new one, or says what to
//! do, and that is never to restart the JVM.

use crate::{
    attaching::start_unrecorded,
    mode_changes::WAITS,
    support::{
        Jdk, Program, RunningCommand, err, info, needs, on_jdks, out, output, skip, stdout_of,
        text, tyrion, wait_for,
    },
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

on_jdks!(deleted: one);
on_jdks!(moved: one);
on_jdks!(truncated: one);
on_jdks!(folder_removed: one);
on_jdks!(folder_read_only: one);
on_jdks!(disk_full: one);
on_jdks!(disk_failing: one);
on_jdks!(unmounted: one);
on_jdks!(stopped_and_deleted: one);

const COMMANDS: [&str; 3] = ["attach", "profile", "sample"];

/// A JVM that is recorded, and what of it the mishap befalls.
struct Stage {
    running: RunningCommand,
    /// The folder of the log, as the JVM sees it.
    folder: PathBuf,
    /// Whether that is in a mount namespace of the JVM's own.
    is_apart: bool,
}

impl Stage {
    fn start(jdk: &Jdk) -> Stage {
        let running = start_unrecorded(&storm(jdk), tempfile::tempdir().unwrap());
        let folder = running.log.with_file_name("logs");
        std::fs::create_dir(&folder).unwrap();
        Stage { running, folder, is_apart: false }.recorded()
    }

    /// The same with this mounted on the folder of the log, where only the JVM sees it; `None`
    /// after a message where that is not allowed.
    fn mounted(jdk: &Jdk, mount: &str) -> Option<Stage> {
        if !needs(&["unshare", "nsenter", "mount", "umount"]) {
            return None;
        }
        let own = tempfile::tempdir().unwrap();
        let folder = own.path().join("logs");
        std::fs::create_dir(&folder).unwrap();
        let tried =
            Command::new("unshare").args(["-m", "sh", "-c", mount, "sh"]).arg(&folder).output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            skip("rights to mount a file system in a namespace");
            return None;
        }
        let log = own.path().join("attached.log");
        let script = format!("{mount} && shift && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(&folder).args(storm(jdk).command_line());
        let running = RunningCommand::of(&mut command, own, log);
        Some(Stage { running, folder, is_apart: true }.recorded())
    }

    fn recorded(self) -> Stage {
        self.running.await_line("raging");
        let log = self.log();
        // Where the disk matters, the log is to grow.
        let threshold = if self.is_apart { "0" } else { "1ms" };
        let threshold = format!("--threshold={threshold}");
        stdout_of(tyrion().args(["attach", &threshold, "-o", text(&log), &self.pid()]));
        wait_for("contention", || (contentions(&self.seen(&log)) > 0).then_some(()));
        self
    }

    fn pid(&self) -> String {
        self.running.id().to_string()
    }

    fn log(&self) -> PathBuf {
        self.folder.join("x.log")
    }

    /// A path of the JVM's, as it is seen from here.
    fn seen(&self, path: &Path) -> PathBuf {
        match self.is_apart {
            true => Path::new(&format!("/proc/{}/root", self.pid()))
                .join(path.strip_prefix("/").unwrap()),
            false => path.to_owned(),
        }
    }

    /// Has this happen where the JVM is, with the folder of the log as `$1`.
    fn befall(&self, script: &str) {
        println!("\n== {script}");
        let mut command = match self.is_apart {
            true => {
                let mut nsenter = Command::new("nsenter");
                nsenter.args(["-t", &self.pid(), "-m", "sh", "-c", script, "sh"]);
                nsenter
            }
            false => {
                let mut sh = Command::new("sh");
                sh.args(["-c", script, "sh"]);
                sh
            }
        };
        let done = output(command.arg(&self.folder));
        assert!(done.status.success(), "{script}: {}", err(&done));
    }

    fn status(&self) -> Value {
        serde_json::from_str(&stdout_of(tyrion().args(["status", "--json", &self.pid()]))).unwrap()
    }

    /// Waits until the agent has seen what happened.
    fn await_state(&self, state: &str) {
        wait_for(state, || (self.status()["state"] == state).then_some(()));
    }

    /// Runs a command in a folder of its own.
    fn run(&self, command: &str, more: &[&str]) -> Output {
        let folder = self.running.log.with_file_name(format!("of {command}"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut tyrion = tyrion();
        tyrion.args([command, &self.pid()]).args(more).current_dir(folder);
        match command {
            "profile" => drop(tyrion.args(["-d", "3", "--no-open"])),
            "sample" => drop(tyrion.args(["-d", "3"])),
            _ => {}
        }
        let done = output(&mut tyrion);
        // With --nocapture this is the list of what each command says.
        println!("{command}: {:?}\n{}{}", done.status.code(), out(&done), err(&done));
        done
    }

    /// What is recorded now goes into a file that can be read: its path for the JVM.
    fn check_recorded(&self, command: &str, done: &Output) -> PathBuf {
        let said = format!("{command}: {}{}", out(done), err(done));
        assert!(done.status.success(), "{said}");
        assert!(!said.contains("estart the JVM") && !said.contains("are missing"), "{said}");
        let log = PathBuf::from(self.status()["log"].as_str().unwrap());
        match command {
            // It records on.
            "attach" => {
                let more = || contentions(&self.seen(&log)) > 0;
                wait_for("contention", || more().then_some(()));
            }
            "profile" => assert!(out(done).contains("Storm$LockHammer.target.lock"), "{said}"),
            _ => assert!(out(done).contains("Storm$LockHammer"), "{said}"),
        }
        log
    }
}

fn storm(jdk: &Jdk) -> Program {
    Program::truth(jdk, "storm 600 lock").pinned()
}

fn contentions(log: &Path) -> u64 {
    if !log.exists() {
        return 0;
    }
    info(log).pointer(WAITS).and_then(Value::as_u64).unwrap_or(0)
}

/// Each command after a mishap, in a JVM of its own: `check` gets where the log goes on.
fn after(
    mut stage: impl FnMut() -> Option<Stage>,
    script: &str,
    state: &str,
    check: impl Fn(&Stage, &Path),
) {
    for command in COMMANDS {
        let Some(stage) = stage() else { return };
        stage.befall(script);
        stage.await_state(state);
        let done = stage.run(command, &[]);
        let log = stage.check_recorded(command, &done);
        check(&stage, &log);
    }
}

fn deleted(jdk: &Jdk) {
    after(
        || Some(Stage::start(jdk)),
        "rm \"$1/x.log\"",
        "broken",
        |stage, log| {
            let said = stage.running.stderr();
            assert!(said.contains("the file was deleted"), "{said}");
            assert!(
                log == stage.log() || log.ends_with(format!("tyrion-{}.log", stage.pid())),
                "{log:?}"
            );
        },
    );
}

/// A JVM that nobody records says nothing of it.
fn stopped_and_deleted(jdk: &Jdk) {
    for command in COMMANDS {
        let stage = Stage::start(jdk);
        stdout_of(tyrion().args(["stop", &stage.pid()]));
        stage.befall("rm \"$1/x.log\"");
        let done = stage.run(command, &[]);
        stage.check_recorded(command, &done);
        assert!(!stage.running.stderr().contains("tyrion: "), "{}", stage.running.stderr());
    }
}

/// What was recorded until then stays where it is now.
fn moved(jdk: &Jdk) {
    let script = "mv \"$1/x.log\" \"$1/kept.log\"";
    after(
        || Some(Stage::start(jdk)),
        script,
        "recording",
        |stage, _| {
            let kept = info(&stage.folder.join("kept.log"));
            assert_eq!(kept["continued"], true, "{kept}");
            assert!(kept.pointer(WAITS).and_then(Value::as_u64) > Some(0), "{kept}");
        },
    );
}

/// What somebody has made of the file is left as it is.
fn truncated(jdk: &Jdk) {
    let script = "truncate -s 5 \"$1/x.log\"";
    after(
        || Some(Stage::start(jdk)),
        script,
        "broken",
        |stage, log| {
            assert_eq!(std::fs::metadata(stage.log()).unwrap().len(), 5);
            assert_ne!(log, stage.log());
        },
    );
}

fn folder_removed(jdk: &Jdk) {
    after(
        || Some(Stage::start(jdk)),
        "rm -r \"$1\"",
        "broken",
        |stage, log| {
            assert!(!stage.folder.exists() && log.exists(), "{log:?}");
        },
    );
}

/// A file that is open can still be written to.
fn folder_read_only(jdk: &Jdk) {
    after(
        || Some(Stage::start(jdk)),
        "chmod 555 \"$1\"",
        "recording",
        |stage, _| {
            stage.befall("chmod 755 \"$1\"");
        },
    );
}

/// What is on the disk stays, and there is a way to another one.
fn disk_full(jdk: &Jdk) {
    let mount = "mount -t tmpfs -o size=20m tmpfs \"$1\"";
    for command in COMMANDS {
        let Some(stage) = Stage::mounted(jdk, mount) else { return };
        stage.befall("cat /dev/zero > \"$1/ballast\" 2>/dev/null; true");
        stage.await_state("paused");
        let done = stage.run(command, &[]);
        if command == "profile" {
            // It has a log of its own, in the user's folder.
            stage.check_recorded(command, &done);
            continue;
        }
        assert_eq!(done.status.code(), Some(1), "{command}: {}", out(&done));
        assert!(err(&done).contains("tyrion attach -o"), "{command}: {}", err(&done));
        let other = stage.running.log.with_file_name("other.log");
        let done = stage.run("attach", &["-o", text(&other)]);
        assert_eq!(stage.check_recorded("attach", &done), other);
    }
}

/// A disk that takes nothing any more: one in a file, for which there is no room.
fn disk_failing(jdk: &Jdk) {
    if !needs(&["mkfs.ext4"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let at = text(place.path());
    let mount = format!(
        "mount -t tmpfs -o size=40m tmpfs {at} && truncate -s 64m {at}/disk && \
         mkfs.ext4 -q {at}/disk && mount -o loop {at}/disk \"$1\""
    );
    let fail = format!("cat /dev/zero > {at}/ballast; touch \"$1/more\"; sync; true");
    after(
        || Stage::mounted(jdk, &mount),
        &fail,
        "broken",
        |_, log| {
            assert!(log.exists(), "{log:?}");
        },
    );
}

fn unmounted(jdk: &Jdk) {
    let mount = "mount -t tmpfs -o size=60m tmpfs \"$1\"";
    after(
        || Stage::mounted(jdk, mount),
        "umount -l \"$1\"",
        "recording",
        |stage, log| {
            assert!(stage.seen(log).exists(), "{log:?}");
        },
    );
}
