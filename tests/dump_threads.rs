//! Thread dumps that `tyrion dump-threads` takes of JVMs without an agent.

use crate::{
    attaching::unrecorded,
    support::{Jdk, err, on_jdks, root, run, sample_log, stdout_of, text, tyrion},
};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::{io::Read, path::PathBuf};

on_jdks!(a_series_is_taken: extremes, everywhere all);

fn a_series_is_taken(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dumps.txt");
    let args = ["dump-threads", "--json", "-n", "3", "--every", "100ms", "-o", text(&file), &pid];
    let taken: Value = serde_json::from_str(&stdout_of(tyrion().args(args))).unwrap();
    let dumps = &taken["sections"]["dumps"];
    assert_eq!(dumps["dumps"], 3);
    let threads = dumps["threads"].as_u64().unwrap();
    assert!(threads > 5, "{threads}");
    // Whoever reads the file is told the same.
    let read = stdout_of(tyrion().args(["report", "--json", text(&file)]));
    let read: Value = serde_json::from_str(&read).unwrap();
    assert_eq!(&read["sections"]["dumps"], dumps);
    let args = ["dump-threads", "-n", "1", "--fail-if", "lock_waiters > 100000", &pid];
    assert_eq!(run(args).status.code(), Some(0));
    // No agent was loaded.
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("tyrion_agent"), "{maps}");
}

fn dumps(name: &str) -> PathBuf {
    root().join("testdata/inputs/dumps").join(name)
}

#[test]
fn conditions_are_about_what_dumps_tell() {
    let on = |condition: &str, name: &str| {
        let ended = run(["report", "--fail-if", condition, text(&dumps(name))]);
        (ended.status.code().unwrap(), err(&ended))
    };
    let (status, told) = on("lock_waiters > 2", "beans-8.txt");
    assert_eq!(status, 4, "{told}");
    assert!(told.contains("lock_waiters > 2: 3 at java.lang.Object"), "{told}");
    assert_eq!(on("lock_waiters > 3", "beans-8.txt").0, 0);
    assert_eq!(on("deadlocks > 0", "openj9-8-deadlock-1.txt").0, 4);
    assert_eq!(on("pool_waiters >= 4", "spring-17-dbcp.txt").0, 4);
    // What is not known is no success.
    for condition in ["p99_wait_ns > 5ms", "contentions > 1", "unmoved_threads > 0"] {
        let (status, told) = on(condition, "beans-8.txt");
        assert_eq!(status, 1, "{told}");
        assert!(told.contains("cannot be answered"), "{told}");
    }
    let log = root().join("testdata/logs/v1-holds.log");
    let ended = run(["report", "--fail-if", "lock_waiters > 0", text(&log)]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(err(&ended).contains("needs thread dumps"));
}

#[test]
fn outputs_of_single_waits_show_each_dump() {
    let folder = tempfile::tempdir().unwrap();
    let convert = |to: &str, name: &str| {
        let out = folder.path().join(to);
        let input = dumps(name);
        stdout_of(tyrion().args([
            "convert",
            "--state",
            "all",
            "--to",
            to,
            "-o",
            text(&out),
            text(&input),
        ]));
        std::fs::read(out).unwrap()
    };
    // Two dumps ten seconds apart, with two threads in each.
    let shown: Value =
        serde_json::from_slice(&convert("speedscope", "log-with-dumps.txt")).unwrap();
    let profiles = shown["profiles"].as_array().unwrap();
    let names: Vec<&str> = profiles.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dump 1 of 2, 2024-03-05T10:11:12Z", "dump 2 of 2, 2024-03-05T10:11:22Z"]);
    let frames = shown["shared"]["frames"].as_array().unwrap().len() as u64;
    for profile in profiles {
        assert_eq!((&profile["unit"], &profile["weights"]), (&"none".into(), &[1, 1].into()));
        let samples = profile["samples"].as_array().unwrap();
        let stacks = samples.iter().flat_map(|sample| sample.as_array().unwrap());
        assert!(stacks.into_iter().all(|frame| frame.as_u64().unwrap() < frames), "{profile:#}");
    }
    let packed = convert("firefox", "log-with-dumps.txt");
    let mut plain = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut plain).unwrap();
    let shown: Value = serde_json::from_str(&plain).unwrap();
    let threads = shown["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let samples = &thread["samples"];
        assert_eq!((&samples["weightType"], &samples["length"]), (&"samples".into(), &2.into()));
        let times: Vec<f64> =
            samples["time"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
        assert_eq!(times[1] - times[0], 10_000.0, "ms");
    }
    assert!(convert("perfetto", "log-with-dumps.txt").len() > 100);
    // Dumps without times are there, too.
    let shown: Value = serde_json::from_slice(&convert("speedscope", "beans-8.txt")).unwrap();
    assert_eq!(shown["profiles"][0]["name"], "dump 1 of 1");
}

#[test]
fn info_says_what_dumps_do_not_tell() {
    let info = |name: &str| stdout_of(tyrion().args(["info", text(&dumps(name))]));
    let series = info("log-with-dumps.txt");
    assert!(series.contains("between dumps 10 s"), "{series}");
    assert!(series.contains("what happened between the dumps"), "{series}");
    let beans = info("beans-8.txt");
    for part in ["how long and how often threads waited", "when they were taken", "CPU time"] {
        assert!(beans.contains(part), "{beans}");
    }
    assert!(beans.contains("who has what 1 of them wait for"), "a read lock: {beans}");
    let stateless = info("jdk-21-monitors-tofile.txt");
    assert!(stateless.contains("ran or waited for a monitor"), "{stateless}");
    assert!(!series.contains("threshold"), "{series}");
}

#[test]
fn what_is_sent_to_a_collector_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (sent, log) = (folder.path().join("sent"), sample_log());
    let args = ["convert", "--kind", "all", "--to", "otlp", "-o", text(&sent), text(&log)];
    stdout_of(tyrion().args(args));
    let waits = |path: &str| {
        let info = stdout_of(tyrion().args(["info", "--json", path]));
        let info: Value = serde_json::from_str(&info).unwrap();
        let kinds = info["kinds"].as_object().unwrap().clone();
        let of = |kind: &Value| (kind["count"].clone(), kind["wait_ns"].clone());
        let kinds: Vec<_> = kinds.iter().map(|(name, kind)| (name.clone(), of(kind))).collect();
        (info["totals"]["contentions"].clone(), info["totals"]["wait_ns"].clone(), kinds)
    };
    assert_eq!(waits(text(&sent)), waits(text(&log)));
    let stacks = |path: &str| {
        let folded = tyrion()
            .args(["convert", "--kind", "all", "--to", "collapsed", "-o", "-", path])
            .output();
        String::from_utf8(folded.unwrap().stdout).unwrap()
    };
    assert_eq!(stacks(text(&sent)), stacks(text(&log)));
}
