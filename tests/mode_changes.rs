//! What is recorded changes while the JVM runs, and the log says when.

use crate::{
    attaching::unrecorded,
    support::{
        Jdk, Program, Report, RunningCommand, TraceLog, Wait, assert_between, err, info, list,
        number, on_jdks, out, output, pending, root, stdout_of, text, tyrion, wait_for, waits,
    },
};
use serde_json::Value;
use std::{collections::BTreeMap, fs::File, path::Path, process::Command, time::Duration};

on_jdks!(there_and_back: newest, everywhere all);
on_jdks!(locks_after_a_sample: one);
on_jdks!(a_session_leaves_no_mode: one);
on_jdks!(the_mode_of_the_start_is_the_usual_one: one);
on_jdks!(what_cannot_change: one);
on_jdks!(parked_over_the_change: since(21));
on_jdks!(classes_loaded_in_another_mode: two);
on_jdks!(classes_without_probes_stay_as_they_are: ends, everywhere since(11));
on_jdks!(only_what_is_included_is_redefined: one);
on_jdks!(trace_mode_that_cannot_begin: two);

pub fn attach(running: &RunningCommand, options: &[&str]) -> Value {
    attach_to(running, running.id(), options)
}

/// The same where the JVM is another process: that of `tyrion record` is its parent.
pub fn attach_to(running: &RunningCommand, jvm: u32, options: &[&str]) -> Value {
    let mut attach = tyrion();
    attach.args(["attach", "--json", "-o", text(&running.log)]).args(options);
    serde_json::from_str(&stdout_of(attach.arg(jvm.to_string()))).unwrap()
}

/// A total of the log, by its path in the JSON of `info`.
pub fn total(log: &Path, path: &str) -> u64 {
    if !log.exists() {
        return 0;
    }
    info(log).pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

pub const WAITS: &str = "/totals/contentions";
const ACQUISITIONS: &str = "/trace/taken/acquisitions";

/// Waits until a total does not grow any more while another one does. A thread that was
/// in a probe when the mode changed may count once more, whenever it runs again.
fn await_end(log: &Path, ended: &str, growing: &str) {
    wait_for(&format!("end of {ended}"), || {
        let counted = total(log, ended);
        std::thread::sleep(Duration::from_millis(300));
        await_more(log, growing, total(log, growing));
        (total(log, ended) == counted).then_some(())
    });
}

/// Waits until a total has grown.
pub fn await_more(log: &Path, path: &str, than: u64) {
    wait_for(path, || (total(log, path) > than).then_some(()));
}

/// Each mode after each other kind of mode, twice.
fn there_and_back(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let log = &running.log;
    let modes = ["contention", "trace", "contention", "sample", "trace+sample", "contention"];
    for mode in modes.iter().chain(&modes) {
        let (waits, acquisitions) = (total(log, WAITS), total(log, ACQUISITIONS));
        let answer = attach(&running, &["--threshold=0", &format!("--mode={mode}")]);
        assert_eq!(answer["mode"], *mode, "{answer}");
        match *mode {
            "contention" => {
                await_more(log, WAITS, waits);
                await_end(log, ACQUISITIONS, WAITS);
            }
            "sample" => {
                await_end(log, WAITS, "/sampling/records");
            }
            _ => {
                await_more(log, WAITS, waits);
                await_more(log, ACQUISITIONS, acquisitions);
            }
        }
    }
    check_spans(log, &modes);
    let pid = running.id().to_string();
    assert!(stdout_of(tyrion().args(["stop", &pid])).contains("paused"));
    // What was recorded of locks makes no more than all threads' time.
    let report = Report::of(log);
    let overview = report.section("overview");
    let lost = overview["lost_share"].as_f64().unwrap();
    assert!((0.05..=1.0).contains(&lost), "{overview}");
}

/// The log's parts follow each other without a gap, twice the modes.
fn check_spans(log: &Path, modes: &[&str]) {
    let info = info(log);
    let spans = info["mode_spans"].as_array().unwrap();
    let recorded: Vec<&str> = spans.iter().map(|span| span["mode"].as_str().unwrap()).collect();
    // The last of the first round goes on as the first of the second.
    let expected: Vec<&str> = modes.iter().chain(&modes[1..]).copied().collect();
    assert_eq!(recorded, expected, "{info}");
    let mut end_ns = 0;
    for span in spans {
        assert_eq!(span["start_ns"], end_ns, "{info}");
        end_ns += span["duration_ns"].as_u64().unwrap();
    }
}

/// Somebody takes a sample first; then locks are recorded all the same.
fn locks_after_a_sample(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    let sampled = stdout_of(tyrion().args(["sample", &pid, "--duration", "300ms"]));
    assert!(sampled.contains("Storm"), "{sampled}");
    let answer = attach(&running, &["--threshold=0"]);
    assert_eq!((&answer["mode"], &answer["state"]), (&"contention".into(), &"recording".into()));
    assert_eq!(answer["log"], text(&running.log));
    await_more(&running.log, WAITS, 0);
}

/// What nobody asks for is the default, whatever was recorded before.
fn a_session_leaves_no_mode(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    assert_eq!(attach(&running, &["--mode=trace+sample"])["mode"], "trace+sample");
    // While it lasts, it stays.
    assert_eq!(attach(&running, &[])["mode"], "trace+sample");
    stdout_of(tyrion().args(["stop", &pid]));
    let answer = attach(&running, &["--threshold=0"]);
    assert_eq!((&answer["mode"], &answer["sampling"]), (&"contention".into(), &"off".into()));
    await_more(&running.log, WAITS, total(&running.log, WAITS));
}

/// Of a JVM that was started with a mode, that is the default.
fn the_mode_of_the_start_is_the_usual_one(jdk: &Jdk) {
    let program = Program::truth(jdk, "storm 600 lock").option("--mode=trace");
    let running = program.start();
    running.await_line("raging");
    let pid = running.jvm().to_string();
    assert_eq!(attach_to(&running, running.jvm(), &["--mode=contention"])["mode"], "contention");
    stdout_of(tyrion().args(["stop", &pid]));
    assert_eq!(attach_to(&running, running.jvm(), &[])["mode"], "trace");
}

fn what_cannot_change(jdk: &Jdk) {
    let running = unrecorded(jdk);
    attach(&running, &["--mode=contention"]);
    // Trace mode's own are open until it has been on.
    assert_eq!(attach(&running, &["--mode=trace", "--identity=false"])["mode"], "trace");
    assert_eq!(attach(&running, &["--mode=contention"])["mode"], "contention");
    let pid = running.id().to_string();
    let options = ["--mode=trace", "--hold=all", "--identity=true", "--precise"];
    let refused = output(tyrion().args(["attach", &pid]).args(options));
    assert_eq!(refused.status.code(), Some(1));
    let reason = err(&refused);
    let expected = "identity and precise cannot change once the agent is loaded";
    assert!(reason.contains(expected), "{reason}");
    let status = stdout_of(tyrion().args(["status", "--json", &pid]));
    assert!(status.contains("\"mode\":\"contention\""), "{status}");
}

/// A program without an agent, whose steps files in its folder begin.
pub fn in_steps(program: impl FnOnce(&Path) -> Program, said: &str) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let line = program(folder.path()).command_line();
    let log = folder.path().join("test.log");
    let mut java = Command::new(&line[0]);
    let running = RunningCommand::of(java.args(&line[1..]), folder, log);
    running.await_line(said);
    running
}

pub fn take_step(running: &RunningCommand, step: &str) {
    File::create(running.log.with_file_name(step)).unwrap();
}

/// The end of a wait is not lost because what saw it begin is no longer at work.
fn parked_over_the_change(jdk: &Jdk) {
    let program = |folder: &Path| Program::truth(jdk, &format!("parked-over {}", text(folder)));
    let mut running = in_steps(program, "ready");
    attach(&running, &["--threshold=0", "--mode=contention", "--parks=natives"]);
    take_step(&running, "begin");
    running.await_line("parked");
    // A thread whose carrier it keeps counts as waiting before it parks.
    let begun = |thread: &str| pending(&running.log).iter().any(|wait| wait.thread == thread);
    wait_for("waits", || (begun("vlock") && begun("vpark")).then_some(()));
    take_step(&running, "seen");
    running.await_line("noted");
    attach(&running, &["--mode=trace"]);
    take_step(&running, "end");
    let ended = running.finish();
    assert!(ended.status.success(), "{}", err(&ended));
    let said: Value = serde_json::from_str(out(&ended).lines().last().unwrap()).unwrap();
    let recorded = waits(&running.log);
    for thread in ["vlock", "vpark"] {
        let is_its = |wait: &&Value| wait["thread"] == thread;
        let expected: Vec<&Value> = list(&said, "waits").iter().filter(is_its).collect();
        let is_its = |wait: &&Wait| wait.thread == thread && !wait.is_of_the_jvm();
        let mut found: Vec<&Wait> = recorded.iter().filter(is_its).collect();
        assert_eq!(found.len(), expected.len(), "{thread}: {found:?}");
        // As the program lists them.
        found.sort_by_key(|wait| wait.start_ns);
        for (found, expected) in found.into_iter().zip(expected) {
            assert_eq!(found.kind, expected["kind"], "{found:?}");
            assert_eq!(found.outcome.as_deref(), Some("granted"), "{found:?}");
            let (least_ns, most_ns) = (number(expected, "least_ns"), number(expected, "wait_ns"));
            assert_between(thread, found.wait_ns, least_ns, most_ns);
        }
    }
}

/// The program `room`, whose JVM tells which classes are redefined.
fn room(jdk: &Jdk) -> RunningCommand {
    let program = |folder: &Path| {
        let told = text(&folder.join(REDEFINED)).to_owned();
        Program::truth(jdk, &format!("room {} 4", text(folder)))
            .flag(format!("-Xlog:redefine+class+load=info:file={told}"))
    };
    in_steps(program, "ready")
}

/// The file in which a JVM tells that.
pub const REDEFINED: &str = "redefined.txt";

/// How often each class was redefined.
pub fn redefined(running: &RunningCommand) -> BTreeMap<String, u32> {
    let told = std::fs::read_to_string(running.log.with_file_name(REDEFINED)).unwrap();
    let names = told.lines().filter_map(|line| {
        line.split_once("redefined name=").and_then(|(_, name)| name.split_once(',')?.0.into())
    });
    let mut counts = BTreeMap::new();
    names.for_each(|name: &str| *counts.entry(name.to_owned()).or_default() += 1);
    counts
}

/// Trace mode that comes back has nothing to do but for what was loaded meanwhile.
fn classes_without_probes_stay_as_they_are(jdk: &Jdk) {
    let running = room(jdk);
    attach(&running, &["--threshold=0", "--mode=trace"]);
    let first = redefined(&running);
    assert_eq!(first["tyrion.truth.Room$NotANumber"], 1, "{first:?}");
    for mode in ["contention", "trace", "sample", "trace"] {
        attach(&running, &[&format!("--mode={mode}")]);
    }
    let mut later = redefined(&running);
    later.retain(|name, count| first.get(name).is_some_and(|first| first != count));
    assert!(later.is_empty(), "once more: {later:?}");
}

/// All other classes stay as they are, but for the JDK's locks.
fn only_what_is_included_is_redefined(jdk: &Jdk) {
    let running = room(jdk);
    attach(&running, &["--threshold=0", "--mode=trace", "--include=tyrion.truth.Room*"]);
    let mut redefined = redefined(&running);
    assert_eq!(redefined.remove("tyrion.truth.Room"), Some(1), "{redefined:?}");
    let is_included = |name: &str| name.starts_with("tyrion.truth.Room");
    let is_a_lock = |name: &str| {
        name.starts_with("java.util.concurrent.locks.")
            || ["java.util.concurrent.Semaphore", "java.lang.Thread"].contains(&name)
    };
    redefined.retain(|name, _| !is_included(name) && !is_a_lock(name));
    assert!(redefined.is_empty(), "{redefined:?}");
}

/// They are left alone then, and get their probes when trace mode comes back.
fn classes_loaded_in_another_mode(jdk: &Jdk) {
    let mut running = room(jdk);
    attach(&running, &["--threshold=0", "--mode=trace"]);
    take_step(&running, "crowd");
    running.await_line("crowd");
    attach(&running, &["--mode=contention"]);
    take_step(&running, "meanwhile");
    running.await_line("meanwhile");
    attach(&running, &["--mode=trace"]);
    // Probes that a class got when it was loaded do not stand there.
    let redefined = redefined(&running);
    assert!(redefined.contains_key("tyrion.truth.Room$Late"), "{redefined:?}");
    take_step(&running, "after");
    let ended = running.finish();
    assert!(ended.status.success(), "{}", err(&ended));
    let said: Value = serde_json::from_str(out(&ended).lines().last().unwrap()).unwrap();
    let taken = TraceLog::of(&running.log).taken_by_thread("tyrion.truth.Room$Late");
    assert!(!taken.contains_key("meanwhile"), "{taken:?}");
    assert_eq!(taken["after"].acquisitions, number(&said, "times"), "{taken:?}");
}

/// Somebody else has the name of the class that probes would call.
fn trace_mode_that_cannot_begin(jdk: &Jdk) {
    let class = root().join("agent/probe/java/lang/TyrionTrace.class");
    let program = |_: &Path| {
        let opens = "--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned();
        Program::truth(jdk, &format!("occupied {} 60 lock", text(&class))).flag(opens)
    };
    let running = in_steps(program, "raging");
    attach(&running, &["--mode=sample"]);
    let pid = running.id().to_string();
    let refused = output(tyrion().args(["attach", &pid, "--threshold=0", "--mode=trace"]));
    assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
    let reason = err(&refused);
    assert!(reason.contains("trace mode could not begin; waits alone are recorded"), "{reason}");
    // The note on the cost comes first.
    assert!(reason.starts_with("tyrion: note: trace mode puts probes into"), "{reason}");
    assert!(reason.contains(&format!("JDK {} may discard ", jdk.major)), "{reason}");
    await_more(&running.log, WAITS, 0);
    let info = info(&running.log);
    let modes: Vec<&Value> = list(&info, "mode_spans").iter().map(|span| &span["mode"]).collect();
    assert_eq!(modes, ["sample", "contention+sample"], "{info}");
    let status: Value =
        serde_json::from_str(&stdout_of(tyrion().args(["status", "--json", &pid]))).unwrap();
    assert_eq!(status["mode"], "contention+sample", "{status}");
}
