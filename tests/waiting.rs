//! A command waits as long as the agent is at work, and leaves the JVM as it was if the user
//! does not want to wait.

use crate::{
    attaching::start_unrecorded,
    mode_changes::{REDEFINED, WAITS, await_more, redefined},
    support::{
        Jdk, Program, RunningCommand, agent, err, finish, on_jdks, out, output, run, text, tyrion,
        wait_for,
    },
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;

on_jdks!(who_is_at_work_is_told: one);
on_jdks!(interrupted: one);
on_jdks!(interrupted_in_contention_mode: newest);
on_jdks!(killed: one);
on_jdks!(killed_with_a_copy: one);
on_jdks!(killed_before_its_copy_is_loaded: one);
on_jdks!(killed_before_two_copies_are_loaded: one);
on_jdks!(interrupted_before_the_jvm_hears_of_it: one);

/// A JVM in which trace mode takes long to begin: all threads must be at a safepoint for that.
fn slow(jdk: &Jdk) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let told = text(&folder.path().join(REDEFINED)).to_owned();
    let program = Program::truth(jdk, "unsafepoint 600")
        .flag("-XX:+UseSerialGC".to_owned())
        .flag(format!("-Xlog:redefine+class+load=info:file={told}"));
    let running = start_unrecorded(&program, folder);
    running.await_line("looping");
    running
}

/// A command in the background, and what it says on stderr.
struct Told {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Told {
    fn start(running: &RunningCommand, options: &[&str]) -> Told {
        Told::start_as(tyrion(), running, options)
    }

    fn start_as(mut command: Command, running: &RunningCommand, options: &[&str]) -> Told {
        command.args(options).arg(running.id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, all) =
            (BufReader::new(child.stderr.take().unwrap()).lines(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *all.lock().unwrap() += &format!("{line}\n");
            }
        });
        Told { child, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    fn await_said(&self, what: &str) {
        wait_for(what, || self.said().contains(what).then_some(()));
    }
}

fn status(running: &RunningCommand) -> Value {
    let told = run(["status", "--json", &running.id().to_string()]);
    serde_json::from_slice(&told.stdout).unwrap_or(Value::Null)
}

/// How often a class was redefined that has probes in trace mode.
fn lock_redefined(running: &RunningCommand) -> u32 {
    let counts = redefined(running);
    counts.get("java.util.concurrent.locks.ReentrantLock").copied().unwrap_or(0)
}

/// Nothing is recorded, and the probes that were put in were taken out.
fn check_as_before(running: &RunningCommand) {
    let state = || status(running)["state"].as_str().map(str::to_owned);
    wait_for("end", || matches!(state().as_deref(), Some("not loaded" | "paused")).then_some(()));
    assert!(lock_redefined(running).is_multiple_of(2), "{:?}", redefined(running));
}

/// The next recording is as if nothing had been.
fn check_recorded_again(running: &RunningCommand) {
    let pid = running.id().to_string();
    let attached = run(["attach", "-o", text(&running.log), "--mode=trace", &pid]);
    assert!(attached.status.success(), "{}", err(&attached));
    assert!(!lock_redefined(running).is_multiple_of(2), "{:?}", redefined(running));
    assert_eq!(status(running)["mode"], "trace");
}

fn attach_trace(running: &RunningCommand) -> Told {
    let told = Told::start(running, &["attach", "--mode=trace", "-o", text(&running.log)]);
    told.await_said("the agent is at work");
    told
}

fn who_is_at_work_is_told(jdk: &Jdk) {
    let running = slow(jdk);
    let mut first = attach_trace(&running);
    let mut second = Told::start(&running, &["status"]);
    let by = format!("another command (process {}) is at work in this JVM", first.child.id());
    wait_for("who is at work, or an end", || {
        (second.said().contains(&by) || second.child.try_wait().unwrap().is_some()).then_some(())
    });
    assert!(second.child.wait().unwrap().success(), "{}", second.said());
    assert!(first.child.wait().unwrap().success(), "{}", first.said());
    assert_eq!(status(&running)["mode"], "trace");
}

fn interrupted(jdk: &Jdk) {
    let running = slow(jdk);
    let mut told = attach_trace(&running);
    running.signal(told.child.id(), "INT");
    assert!(!told.child.wait().unwrap().success());
    wait_for("words", || told.said().contains("giving up").then_some(()));
    check_as_before(&running);
    check_recorded_again(&running);
}

/// From JDK 25 on, classes of the JDK have probes in contention mode, too.
fn interrupted_in_contention_mode(jdk: &Jdk) {
    let running = slow(jdk);
    let redefined = || {
        let name = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
        redefined(&running).get(name).copied().unwrap_or(0)
    };
    let mut told = Told::start(&running, &["attach", "-o", text(&running.log)]);
    told.await_said("the agent is at work");
    running.signal(told.child.id(), "INT");
    assert!(!told.child.wait().unwrap().success());
    let state = || status(&running)["state"].as_str().map(str::to_owned);
    wait_for("end", || matches!(state().as_deref(), Some("not loaded" | "paused")).then_some(()));
    let before = redefined();
    assert!(before.is_multiple_of(2), "{before}");
    let attached = run(["attach", "-o", text(&running.log), &running.id().to_string()]);
    assert!(attached.status.success(), "{}", err(&attached));
    assert_eq!(redefined(), before + u32::from(jdk.major >= 25));
}

/// Nobody tells the agent.
fn killed(jdk: &Jdk) {
    let running = slow(jdk);
    let mut told = attach_trace(&running);
    told.child.kill().unwrap();
    told.child.wait().unwrap();
    check_as_before(&running);
}

/// An agent that the JVM does not load from its place, since others may replace it there: it
/// gets a copy, as in a container.
struct Elsewhere(TempDir);

impl Elsewhere {
    fn new() -> Elsewhere {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        std::fs::copy(agent(), folder.path().join("libtyrion_agent.so")).unwrap();
        Elsewhere(folder)
    }

    fn tyrion(&self) -> Command {
        let mut tyrion = tyrion();
        tyrion.env("TYRION_AGENT", self.0.path().join("libtyrion_agent.so"));
        tyrion
    }

    fn run(&self, running: &RunningCommand, command: &[&str]) -> (bool, String) {
        let done = output(self.tyrion().args(command).arg(running.id().to_string()));
        (done.status.success(), format!("{}{}", out(&done), err(&done)))
    }

    fn is_idle(&self, running: &RunningCommand) -> bool {
        let (works, said) = self.run(running, &["status"]);
        assert!(works, "{said}");
        said.contains("not loaded") || said.contains("paused")
    }
}

/// The folders with copies that a JVM has loaded.
fn copies(running: &RunningCommand) -> Vec<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", running.id())).unwrap();
    let paths = maps.lines().filter_map(|line| line.find("/tmp/.tyrion-").map(|at| &line[at..]));
    let mut folders: Vec<PathBuf> =
        paths.filter_map(|path| Path::new(path).parent().map(Path::to_owned)).collect();
    folders.dedup();
    folders
}

/// The copy stays where it is as long as the JVM runs, and no longer.
fn check_copy_goes(mut running: RunningCommand) {
    let folders = copies(&running);
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(folders[0].join("libtyrion_agent.so").exists());
    running.signal(running.id(), "TERM");
    running.finish();
    assert!(!folders[0].exists(), "{:?}", std::fs::read_dir(&folders[0]).unwrap().count());
}

/// The JVM goes on using the copy, and the agent notices all the same that nobody waits.
fn killed_with_a_copy(jdk: &Jdk) {
    let (running, elsewhere) = (slow(jdk), Elsewhere::new());
    let options = ["attach", "--mode=trace", "-o", text(&running.log)];
    let mut told = Told::start_as(elsewhere.tyrion(), &running, &options);
    told.await_said("the agent is at work");
    told.child.kill().unwrap();
    told.child.wait().unwrap();
    wait_for("end", || elsewhere.is_idle(&running).then_some(()));
    assert!(lock_redefined(&running).is_multiple_of(2), "{:?}", redefined(&running));
    let (works, said) = elsewhere.run(&running, &options);
    assert!(works, "{said}");
    assert!(!lock_redefined(&running).is_multiple_of(2), "{:?}", redefined(&running));
    check_copy_goes(running);
}

/// A JVM that stands still, but has its socket.
fn stopped(jdk: &Jdk, elsewhere: &Elsewhere) -> RunningCommand {
    let program = Program::truth(jdk, "storm 600 lock");
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    running.await_line("raging");
    let (works, said) = elsewhere.run(&running, &["dump-threads", "-n", "1"]);
    assert!(works, "{said}");
    running.signal(running.id(), "STOP");
    running
}

fn options(running: &RunningCommand) -> [&str; 4] {
    ["attach", "-o", text(&running.log), "--threshold=0"]
}

/// Has a command begin that is killed when it has made its request.
fn kill_one(elsewhere: &Elsewhere, running: &RunningCommand) {
    let mut told = Told::start_as(elsewhere.tyrion(), running, &options(running));
    // However late it is: it is killed in any case.
    std::thread::sleep(Duration::from_millis(1500));
    told.child.kill().unwrap();
    told.child.wait().unwrap();
}

/// The JVM finds the request, and the copy, when whoever made them has long gone.
fn killed_before_its_copy_is_loaded(jdk: &Jdk) {
    let elsewhere = Elsewhere::new();
    let running = stopped(jdk, &elsewhere);
    kill_one(&elsewhere, &running);
    running.signal(running.id(), "CONT");
    wait_for("answer", || elsewhere.is_idle(&running).then_some(()));
    let (works, said) = elsewhere.run(&running, &options(&running));
    assert!(works, "{said}");
    await_more(&running.log, WAITS, 0);
    check_copy_goes(running);
}

/// Another command has made a copy meanwhile: the JVM has both then, and one agent.
fn killed_before_two_copies_are_loaded(jdk: &Jdk) {
    let elsewhere = Elsewhere::new();
    let running = stopped(jdk, &elsewhere);
    kill_one(&elsewhere, &running);
    let told = Told::start_as(elsewhere.tyrion(), &running, &options(&running));
    std::thread::sleep(Duration::from_millis(500));
    running.signal(running.id(), "CONT");
    assert!(finish(told.child).status.success(), "{}", told.said.lock().unwrap());
    await_more(&running.log, WAITS, 0);
    let (works, said) = elsewhere.run(&running, &["status"]);
    assert!(works && said.contains("recording"), "{said}");
    let (works, said) = elsewhere.run(&running, &["stop"]);
    assert!(works && said.contains("paused"), "{said}");
}

/// The JVM finds the request when whoever made it has long gone.
fn interrupted_before_the_jvm_hears_of_it(jdk: &Jdk) {
    let program = Program::truth(jdk, "storm 600 lock");
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    running.await_line("raging");
    let pid = running.id().to_string();
    // It has its socket from now on.
    assert!(run(["dump-threads", &pid]).status.success());
    running.signal(running.id(), "STOP");
    let mut attach = tyrion();
    attach.args(["attach", "-o", text(&running.log), &pid]).stdin(Stdio::null());
    let child = attach.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // However late it is: the signal ends it in any case.
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(child.id(), "INT");
    assert!(!finish(child).status.success());
    running.signal(running.id(), "CONT");
    let state = || status(&running)["state"].as_str().map(str::to_owned);
    wait_for("answer", || (state().as_deref() == Some("not loaded")).then_some(()));
    let attached = run(["attach", "-o", text(&running.log), "--threshold=0", &pid]);
    assert!(attached.status.success(), "{}", err(&attached));
    await_more(&running.log, WAITS, 0);
}
