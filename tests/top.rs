//! `tyrion top`: of a storm that rages, and of logs that have ended.

use crate::support::{
    Jdk, Program, RunningCommand, err, info, list, ms, needs, number, on_jdks, out, output, run,
    sample_log, share, stdout_of, text, text_of, tyrion, wait_for,
};
use crate::{
    attaching::unrecorded,
    mode_changes::{WAITS, await_more},
};
use serde_json::Value;
use std::{
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

on_jdks!(a_storm: newest, everywhere two);
on_jdks!(a_stopped_log: one);

const TARGET: &str = "tyrion.truth.Storm$Target";

fn once(options: &[&str]) -> Value {
    let frame = stdout_of(tyrion().args(["top", "--once", "--json"]).args(options));
    serde_json::from_str(&frame).unwrap_or_else(|error| panic!("{error}: {frame}"))
}

/// Averages are over the time that was recorded, however old the log is by now.
fn a_stopped_log(jdk: &Jdk) {
    let mut running = unrecorded(jdk);
    let (pid, log) = (running.id().to_string(), text(&running.log).to_owned());
    let begin = Instant::now();
    stdout_of(tyrion().args(["attach", "--threshold=0", "-o", &log, &pid]));
    await_more(&running.log, WAITS, 0);
    stdout_of(tyrion().args(["stop", &pid]));
    let most = begin.elapsed();
    std::thread::sleep(Duration::from_secs(1));
    let check = |frame: &Value, state: &str| {
        assert_eq!((&frame["state"], &frame["whole"]), (&state.into(), &true.into()), "{frame}");
        assert!(number(frame, "window_ns") <= most.as_nanos() as u64, "{most:?}: {frame}");
        assert!(number(&frame["total"], "waits") > 0, "{frame}");
        assert_eq!(frame["schema"], 1, "{frame}");
    };
    check(&once(&[&pid]), "paused");
    running.signal(running.id(), "TERM");
    running.finish();
    check(&once(&[&log]), "ended");
}

/// Four threads want one monitor all the time, on one CPU: one has it, the
/// others wait. The log begins anew again and again.
fn a_storm(jdk: &Jdk) {
    // It is killed in the end, however long that takes to come.
    let program = Program::truth(jdk, "storm 600 monitor").pinned().option("--threshold=0");
    let mut running = program.option("--filesize=8M").start();
    let pid = running.jvm().to_string();
    let waits = || info(&running.log)["totals"]["contentions"].as_u64();
    wait_for("storm", || waits().filter(|waits| *waits > 10_000));
    for target in [pid.as_str(), text(&running.log)] {
        let begin = Instant::now();
        let frame = once(&["--interval=500ms", target]);
        check_storm(&frame, &pid, begin.elapsed());
    }
    let mut command = tyrion();
    let frame = stdout_of(command.args(["top", "--once", "--interval=200ms", &pid]));
    assert!(frame.starts_with("tyrion.truth.Truth "), "{frame}");
    for shown in [TARGET, "monitor", "storm-1", "storm-4", "recording"] {
        assert!(frame.contains(shown), "no {shown}: {frame}");
    }
    in_a_terminal(&running);
    running.kill_jvm();
    let killed = once(&[text(&running.log)]);
    // The files before it may be gone, and are not looked at.
    let is_first = info(&running.log)["metadata"]["file-number"] == "0";
    assert_eq!((text_of(&killed, "state"), &killed["whole"]), ("killed", &is_first.into()));
    assert_eq!(text_of(&list(&killed, "locks")[0]["lock"], "class"), TARGET);
}

fn check_storm(frame: &Value, pid: &str, took: Duration) {
    assert_eq!(text_of(frame, "program"), "tyrion.truth.Truth");
    assert_eq!((number(frame, "pid").to_string(), &frame["whole"]), (pid.into(), &false.into()));
    assert_eq!((text_of(frame, "mode"), text_of(frame, "state")), ("contention", "recording"));
    let window_ns = number(frame, "window_ns");
    assert!((ms(400)..took.as_nanos() as u64).contains(&window_ns), "{took:?}: {frame}");
    let [lock, ..] = list(frame, "locks") else { panic!("{frame}") };
    assert_eq!((text_of(&lock["lock"], "class"), text_of(lock, "kind")), (TARGET, "monitor"));
    // Three wait at any time, but for moments between two waits.
    for waits in [&frame["total"], lock] {
        assert!((2.0..4.05).contains(&share(waits, "waiting")), "{waits}");
        let per_s = number(waits, "waits") as f64 * 1e9 / window_ns as f64;
        assert!((share(waits, "waits_per_s") - per_s).abs() < 0.01 * per_s, "{waits}");
        assert!(number(waits, "mean_ns") <= number(waits, "max_ns"), "{waits}");
        assert!(number(waits, "waits") > 100, "{waits}");
    }
    assert_eq!((number(lock, "waiters"), number(lock, "instances")), (4, 1), "{lock}");
    let threads = list(frame, "threads");
    let mut names: Vec<&str> = threads.iter().map(|it| text_of(&it["thread"], "name")).collect();
    names.sort_unstable();
    assert_eq!(names, ["storm-1", "storm-2", "storm-3", "storm-4"]);
    for thread in threads {
        assert_eq!(text_of(&thread["lock"], "class"), TARGET, "{thread}");
        assert_eq!(thread["kind"], "monitor", "{thread}");
    }
}

/// Full screen: it draws the lock, takes keys, and leaves the terminal as it
/// was.
fn in_a_terminal(running: &RunningCommand) {
    if !needs(&["script"]) {
        return;
    }
    let top = format!(
        "stty rows 30 cols 100; '{}' top '{}'",
        env!("CARGO_BIN_EXE_tyrion"),
        running.log.display()
    );
    let mut script = Command::new("script");
    script.args(["-qefc", &top, "/dev/null"]).env("TERM", "xterm-256color");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    keys.write_all(b"q").unwrap();
    keys.flush().unwrap();
    let drawn = child.wait_with_output().unwrap();
    let screen = String::from_utf8_lossy(&drawn.stdout).into_owned();
    assert!(drawn.status.success(), "{}: {screen}", drawn.status);
    assert!(screen.contains("Storm$Target"), "{screen}");
    // The other screen, and back.
    let (entered, left) = (screen.find("\x1b[?1049h"), screen.rfind("\x1b[?1049l"));
    assert!(entered.is_some() && entered < left, "{screen}");
    drop(keys);
}

/// Of a log that has ended it shows all.
#[test]
fn a_log_that_has_ended() {
    let log = sample_log();
    let (frame, info) = (once(&["--top=1000", text(&log)]), info(&log));
    assert_eq!((text_of(&frame, "state"), &frame["whole"]), ("ended", &true.into()));
    assert_eq!(number(&frame["total"], "waits"), number(&info["totals"], "contentions"));
    assert_eq!(frame["window_ns"], info["duration_ns"]);
    let waits = list(&frame, "locks").iter().map(|lock| number(lock, "waits"));
    assert_eq!(waits.sum::<u64>(), number(&info["totals"], "contentions"));
    let waits = list(&frame, "threads").iter().map(|thread| number(thread, "waits"));
    assert_eq!(waits.sum::<u64>(), number(&info["totals"], "contentions"));
}

#[test]
fn what_cannot_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let own = std::process::id().to_string();
    let (missing, log) = (folder.path().join("missing.log"), sample_log());
    for (arguments, status) in [
        (&["top", "--once", text(&missing)][..], 1),
        (&["top", "--once", &own], 1),
        (&["top", "--json", text(&log)], 2),
        // Not a terminal.
        (&["top", text(&log)], 2),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", err(&output));
        assert!(out(&output).is_empty() && !err(&output).is_empty(), "{arguments:?}");
    }
    let foreign = folder.path().join("foreign.log");
    std::fs::write(&foreign, [0; 8192]).unwrap();
    let output = output(tyrion().args(["top", "--once"]).arg(&foreign));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("foreign.log: offset 0x"), "{}", err(&output));
}
