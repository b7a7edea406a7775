//! What is recorded changes while the JVM runs, and the log says when.

use crate::{
    attaching::unrecorded,
    support::{
        Jdk, Report, Running, err, info, on_jdks, output, stdout_of, text, tyrion, wait_for,
    },
};
use serde_json::Value;
use std::path::Path;

on_jdks!(there_and_back: all);
on_jdks!(locks_after_a_sample: one);
on_jdks!(what_cannot_change: one);

pub fn attach(running: &Running, options: &[&str]) -> Value {
    let mut attach = tyrion();
    attach.args(["attach", "--json", "-o", text(&running.log)]).args(options);
    serde_json::from_str(&stdout_of(attach.arg(running.id().to_string()))).unwrap()
}

/// A total of the log, by its path in the JSON of `info`.
fn total(log: &Path, path: &str) -> u64 {
    if !log.exists() {
        return 0;
    }
    info(log).pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

pub const WAITS: &str = "/totals/contentions";
const ACQUISITIONS: &str = "/trace/taken/acquisitions";

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
                // Threads that were in a probe have left it.
                std::thread::sleep(std::time::Duration::from_millis(300));
                let counted = total(log, ACQUISITIONS);
                await_more(log, WAITS, total(log, WAITS));
                assert_eq!(total(log, ACQUISITIONS), counted, "trace mode is off");
            }
            "sample" => {
                std::thread::sleep(std::time::Duration::from_millis(300));
                let waited = total(log, WAITS);
                let seen = total(log, "/sampling/records");
                await_more(log, "/sampling/records", seen);
                assert_eq!(total(log, WAITS), waited, "waits are off");
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

fn what_cannot_change(jdk: &Jdk) {
    let running = unrecorded(jdk);
    attach(&running, &["--mode=contention"]);
    // Trace mode's own are open until it has been on.
    assert_eq!(attach(&running, &["--mode=trace", "--hold=1/8"])["mode"], "trace");
    assert_eq!(attach(&running, &["--mode=contention"])["mode"], "contention");
    let pid = running.id().to_string();
    let refused = output(tyrion().args(["attach", &pid, "--mode=trace", "--hold=all"]));
    assert_eq!(refused.status.code(), Some(1));
    let reason = err(&refused);
    assert!(reason.contains("hold cannot change once the agent is loaded"), "{reason}");
    let status = stdout_of(tyrion().args(["status", "--json", &pid]));
    assert!(status.contains("\"mode\":\"contention\""), "{status}");
}
