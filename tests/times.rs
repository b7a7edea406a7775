//! The outputs of `convert` that show single waits, read back by other means than our own.

use crate::support::{err, info, needs, output, root, run, skip, stdout_of, text, tyrion};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

/// The formats and the files that they write.
const FORMATS: [(&str, &str); 3] = [
    ("speedscope", "waits.speedscope.json"),
    ("firefox", "waits.firefox.json.gz"),
    ("perfetto", "waits.perfetto-trace"),
];

fn frozen(name: &str) -> PathBuf {
    root().join("testdata/logs").join(name)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// How long threads waited, as a speedscope file has it: what is between the opening and
/// the closing of outermost frames, and the weights of samples.
fn speedscope_ns(path: &Path) -> u64 {
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    let of_profile = |profile: &Value| match profile["type"].as_str() {
        Some("sampled") => profile["weights"].as_array().unwrap().iter().map(number).sum::<u64>(),
        _ => {
            let (mut open, mut since, mut sum) = (0, 0, 0);
            for event in profile["events"].as_array().unwrap() {
                let (begins, at) = (event["type"] == "O", number(&event["at"]));
                since = if begins && open == 0 { at } else { since };
                open += if begins { 1 } else { -1 };
                sum += if !begins && open == 0 { at - since } else { 0 };
            }
            sum
        }
    };
    profiles.iter().map(of_profile).sum()
}

/// The same of a Firefox profile: its weights are ms.
fn firefox_ns(path: &Path) -> u64 {
    let json = stdout_of(Command::new("gzip").arg("-dc").arg(path));
    let file: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(file["meta"]["preprocessedProfileVersion"], 70);
    let threads = file["threads"].as_array().unwrap();
    let weights = threads.iter().flat_map(|thread| thread["samples"]["weight"].as_array().unwrap());
    weights.map(|ms| (ms.as_f64().unwrap() * 1e6).round() as u64).sum()
}

/// What Perfetto's own messages, as its Python package has them, make of a trace; `None`
/// after a message where the package is missing.
fn perfetto(path: &Path) -> Option<Value> {
    let package = root().join("target/wheels");
    if !package.join("perfetto").is_dir() {
        skip("Perfetto's messages for Python: run tests/setup/wheels.sh");
        return None;
    }
    let mut python = Command::new("python3");
    python.arg(root().join("tests/support/perfetto_sums.py")).arg(path).env("PYTHONPATH", package);
    Some(serde_json::from_str(&stdout_of(&mut python)).unwrap())
}

/// How long threads waited, as the file of a format has it.
fn waited_ns(format: &str, path: &Path) -> Option<u64> {
    match format {
        "speedscope" => Some(speedscope_ns(path)),
        "firefox" => Some(firefox_ns(path)),
        _ => perfetto(path).map(|trace| number(&trace["wait_ns"])),
    }
}

#[test]
fn single_waits_sum_to_what_info_says() {
    let folder = tempfile::tempdir().unwrap();
    let (small, holds, wakers) =
        (frozen("v1-small.log"), frozen("v1-holds.log"), frozen("v1-wakers.log"));
    for (logs, filter) in [
        (&[&small][..], &[][..]),
        (&[&small], &["--kind", "all"]),
        (&[&small], &["--kind", "all", "--min-wait", "20us"]),
        (&[&small], &["--kind", "all", "--since", "1ms"]),
        (&[&small], &["--thread", "main"]),
        (&[&holds], &["--kind", "all"]),
        (&[&wakers], &["--kind", "all"]),
        (&[&small, &holds, &wakers], &["--kind", "all"]),
    ] {
        let expected: u64 = logs.iter().map(|log| wait_ns(log, filter)).sum();
        // A log of holds alone has no waits that could be left out.
        let has_waits = logs.iter().any(|log| wait_ns(log, &["--kind", "all"]) != 0);
        for (format, file) in FORMATS {
            let path = folder.path().join(file);
            let convert = ["convert", "--to", format, "-o", text(&path)];
            let converted = output(tyrion().args(convert).args(filter).args(logs));
            if expected == 0 && has_waits && !filter.is_empty() {
                assert_eq!(converted.status.code(), Some(1), "nothing passes the filters");
                continue;
            }
            assert!(converted.status.success(), "{}", err(&converted));
            let Some(waited_ns) = waited_ns(format, &path) else { continue };
            assert_eq!(waited_ns, expected, "{format} {filter:?} {logs:?}");
        }
    }
}

/// How long threads waited, as `info` tells it: for locks, or in the kinds that are named.
fn wait_ns(log: &Path, filter: &[&str]) -> u64 {
    let info = stdout_of(tyrion().args(["info", "--json"]).args(filter).arg(log));
    let info: Value = serde_json::from_str(&info).unwrap();
    match filter.contains(&"--kind") {
        false => number(&info["totals"]["wait_ns"]),
        true => info["kinds"].as_object().unwrap().values().map(|it| number(&it["wait_ns"])).sum(),
    }
}

#[test]
fn waits_without_times_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let log = frozen("v1-small.log");
    let folded = number(&info(&log)["totals"]["folded"]);
    for (format, file) in FORMATS {
        let path = folder.path().join(file);
        let convert = ["convert", "--to", format, "-o", text(&path), text(&log)];
        let converted = run(convert);
        let told = err(&converted).contains("note: without times: ");
        assert_eq!(told, folded != 0, "{format}: {}", err(&converted));
    }
}

/// Perfetto's messages know every field that is written, and its rules are kept.
#[test]
fn perfetto_reads_traces() {
    if !needs(&["python3"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (log, expected) in [
        ("v1-small.log", &["monitor contention with owner "][..]),
        ("v1-holds.log", &["_lock_held"]),
        ("v1-trace.log", &["release "]),
        ("v1-wakers.log", &["wake "]),
    ] {
        let path = folder.path().join("waits.perfetto-trace");
        let convert = ["convert", "--to", "perfetto", "--kind", "all", "-o", text(&path)];
        stdout_of(tyrion().args(convert).arg(frozen(log)));
        let Some(trace) = perfetto(&path) else { return };
        assert_eq!(trace["unknown_fields"], 0, "{log}");
        let names: BTreeMap<String, u64> = serde_json::from_value(trace["names"].clone()).unwrap();
        for part in expected {
            assert!(names.keys().any(|name| name.contains(part)), "{log}: {part} in {names:?}");
        }
    }
}

#[test]
fn what_has_no_effect_on_single_waits_is_refused() {
    let log = frozen("v1-small.log");
    for (format, _) in FORMATS {
        for (option, said) in [
            (&["--group-by", "pool"][..], "--group-by has no effect on"),
            (&["--by", "holder"], "--by holder has no effect on"),
            (&["--metric", "wait"], "--metric wait has no effect on"),
            (&["--by-thread"], "--by-thread has no effect on"),
        ] {
            let convert = ["convert", "--to", format, "-o", "-"];
            let refused = output(tyrion().args(convert).args(option).arg(&log));
            assert_eq!(refused.status.code(), Some(2), "{format} {option:?}");
            assert!(err(&refused).contains(said), "{format} {option:?}: {}", err(&refused));
        }
        let kept = ["convert", "--to", format, "-o", "-", "--packages", "com.acme"];
        assert!(output(tyrion().args(kept).arg(&log)).status.success());
    }
}
