//! A command waits as long as the agent is at work, and leaves the JVM as it was if the user
//! does not want to wait.

use crate::{
    attaching::start_unrecorded,
    mode_changes::{REDEFINED, WAITS, await_more, redefined},
    support::{Jdk, Program, RunningCommand, err, finish, on_jdks, run, text, tyrion, wait_for},
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

on_jdks!(who_is_at_work_is_told: one);
on_jdks!(interrupted: one);
on_jdks!(killed: one);
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
        let mut command = tyrion();
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

/// Nobody tells the agent.
fn killed(jdk: &Jdk) {
    let running = slow(jdk);
    let mut told = attach_trace(&running);
    told.child.kill().unwrap();
    told.child.wait().unwrap();
    check_as_before(&running);
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
