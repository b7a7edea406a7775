//! From logs to the text that is served.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::{
    text::{self, TextFormat},
    watched::{FollowedLog, Options},
};
use crate::{live::feed::Life, logs::Here};
use std::{collections::BTreeSet, fs::File, io::Cursor, path::Path, rc::Rc};
use tyrion_formats::{
    wire::{
        WaitKind,
        cell::{BUCKETS, Cell, bucket},
        header::RecordingState,
        slot::Pending,
        trace::{AcquisitionCell, Bursts},
    },
    write::{LogOptions, LogWriter, Wait},
};
use tyrion_model::filter::Kinds;

const OPTIONS: fn() -> Options = || Options { kinds: Kinds::contention(), max_locks: 100 };

fn watch(path: &Path) -> FollowedLog {
    FollowedLog::open(Rc::new(Here), path, OPTIONS()).unwrap()
}

fn shown(watched: &FollowedLog) -> String {
    text::write(&watched.families(), TextFormat::Prometheus)
}

/// The value of a sample, as it is written.
#[track_caller]
fn value<'t>(text: &'t str, sample: &str) -> &'t str {
    let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {sample}: {text}"))
}

/// A recording's file in which a lock was waited for, twice; one wait is folded.
fn volume(state: RecordingState, recording: &str, number: &str, wait_ns: u64) -> Vec<u8> {
    let mut options = LogOptions::default();
    let own = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    options.header.state = state;
    options.header.dropped_contention = 3;
    options.header.metadata = vec![
        own("recording", recording),
        own("file-number", number),
        own("mode", "trace"),
        own("hold", "all"),
        own("program", "com.acme.\"Main\""),
    ];
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let class = log.class("com/acme/Cache", "Cache.java").unwrap();
    let method = log.method(class, "get", "()V", 1).unwrap();
    let stack = log.stack(0, method, 2).unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let thread = log.thread(1, "worker", "main", 0).unwrap();
    let lane = log.lane(thread);
    log.wait(lane, Wait { end_ns: 1_000_000_000, wait_ns, site, ..Wait::default() }).unwrap();
    let mut histogram = [0; BUCKETS];
    histogram[bucket(1023)] = 1;
    let (first_ns, last_ns, count, sum_ns, max_ns) = (1, 2_000, 1, 1023, 1023);
    let cell = Cell {
        thread,
        site,
        owner: 0,
        group: 0,
        first_ns,
        last_ns,
        count,
        sum_ns,
        max_ns,
        histogram,
    };
    log.cell(lane, &cell).unwrap();
    let kind = WaitKind::Monitor;
    log.pending(&Pending {
        thread,
        kind,
        stack,
        lock,
        owner: 0,
        start_ns: 1,
        seen_ns: 0,
        flags: 0,
    })
    .unwrap();
    let place = log.place(method, 2, WaitKind::Monitor, 0, "").unwrap();
    let taken = AcquisitionCell {
        thread,
        place,
        class,
        acquisitions: 5,
        first_count: 5,
        first_ns: 77,
        bursts: Some(Bursts { uncounted_error: 2, count: 3, ..Bursts::default() }),
        ..AcquisitionCell::default()
    };
    log.acquisitions(lane, &taken).unwrap();
    for (key, ns) in [("cpu.process_ns", 1000), ("cpu.callbacks_ns", 30), ("cpu.threads_ns", 4)] {
        log.statistic(key, ns).unwrap();
    }
    log.finish().unwrap().into_inner()
}

const CACHE: &str = "{lock=\"com.acme.Cache\",kind=\"monitor\"}";

#[test]
fn a_recording_is_counted_file_after_file_and_one_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: Vec<u8>| {
        // As the agent does: never into a file that somebody has mapped.
        std::fs::write(path("new"), bytes).unwrap();
        std::fs::rename(path("new"), path(name)).unwrap();
    };
    write("a.log", volume(RecordingState::Closed, "one", "0", 1_000_000));
    let mut watched = watch(&path("a.log"));
    let check = |watched: &FollowedLog, files: u64, wait_ns: &str| {
        let text = shown(watched);
        let expect = |sample: &str, expected: &str| assert_eq!(value(&text, sample), expected);
        expect(&format!("tyrion_waits_total{CACHE}"), &(2 * files).to_string());
        expect(&format!("tyrion_wait_seconds_total{CACHE}"), wait_ns);
        expect(&format!("tyrion_acquisitions_total{CACHE}"), &(5 * files).to_string());
        expect(&format!("tyrion_acquisitions_error{CACHE}"), &(2 * files).to_string());
        let held = format!("0.{:09}", 77 * files);
        expect(&format!("tyrion_hold_seconds_total{CACHE}"), &held);
        let dropped = (3 * files).to_string();
        expect("tyrion_dropped_waits_total{contention=\"true\"}", &dropped);
        let shortest = "tyrion_wait_duration_seconds_bucket{kind=\"monitor\",le=\"0.000001023\"}";
        expect(shortest, &files.to_string());
        expect("tyrion_wait_duration_seconds_count{kind=\"monitor\"}", &(2 * files).to_string());
        expect("tyrion_wait_duration_seconds_sum{kind=\"monitor\"}", wait_ns);
    };
    check(&watched, 1, "0.001001023");
    assert_eq!(watched.life(), Life::Closed);
    watched.read().unwrap();
    check(&watched, 1, "0.001001023");
    // It goes on in another file.
    std::fs::rename(path("a.log"), path("a.log.0")).unwrap();
    watched.read().unwrap();
    write("a.log", volume(RecordingState::Closed, "one", "1", 2_000_000));
    watched.read().unwrap();
    check(&watched, 2, "0.003002046");
    assert_eq!(value(&shown(&watched), "tyrion_agent_cpu_seconds_total"), "0.000000034");
    // The program is started anew, at first with a log that has no header yet.
    write("a.log", vec![0; 4096]);
    watched.read().unwrap();
    check(&watched, 2, "0.003002046");
    write("a.log", volume(RecordingState::Closed, "two", "0", 4_000_000));
    watched.read().unwrap();
    watched.read().unwrap();
    check(&watched, 3, "0.007003069");
    assert_eq!(value(&shown(&watched), "tyrion_agent_cpu_seconds_total"), "0.000000068");
}

#[test]
fn threads_wait_only_while_the_program_runs() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), volume(RecordingState::Recording, "one", "0", 1)).unwrap();
    let writer = File::open(file.path()).unwrap();
    writer.lock().unwrap();
    let mut watched = watch(file.path());
    let text = shown(&watched);
    assert_eq!(value(&text, &format!("tyrion_threads_waiting{CACHE}")), "1");
    assert_eq!(value(&text, "tyrion_threads_waiting{lock=\"other\",kind=\"lock\"}"), "0");
    let longest = value(&text, &format!("tyrion_longest_pending_wait_seconds{CACHE}"));
    assert_ne!(longest, "0.000000000");
    let state =
        |state: &str| format!("tyrion_recording_state{{tyrion_recording_state=\"{state}\"}}");
    assert_eq!(value(&text, &state("recording")), "1");
    assert_eq!(value(&text, &state("killed")), "0");
    assert!(text.contains("program=\"com.acme.\\\"Main\\\"\""), "{text}");
    drop(writer);
    watched.read().unwrap();
    let text = shown(&watched);
    assert!(!text.contains("tyrion_threads_waiting"), "{text}");
    assert_eq!(value(&text, &state("killed")), "1");
    assert_eq!(value(&text, &format!("tyrion_waits_total{CACHE}")), "2");
}

#[test]
fn what_was_not_recorded_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    for (mode, has_waits) in [("sample", false), ("contention", true)] {
        let mut options = LogOptions::default();
        options.header.metadata = vec![("mode".to_owned(), mode.to_owned())];
        LogWriter::new(File::create(&path).unwrap(), options).unwrap().finish().unwrap();
        let text = shown(&watch(&path));
        let waits = "tyrion_waits_total{lock=\"other\",kind=\"monitor\"} 0\n";
        assert_eq!(text.contains(waits), has_waits, "{text}");
        assert_eq!(text.contains("tyrion_wait"), has_waits, "{text}");
        for lacks in ["tyrion_acquisitions", "tyrion_hold", "tyrion_agent_cpu"] {
            assert!(!text.contains(lacks), "{text}");
        }
    }
}

/// `docs/metrics.md` names every metric, and no other.
#[test]
fn every_metric_is_documented() {
    let document = include_str!("../../../../docs/metrics.md");
    let (_, chapter) = document.split_once("\n## The metrics\n").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let rows = chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<&str> = rows.map(|(name, _)| name).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), volume(RecordingState::Recording, "one", "0", 1)).unwrap();
    let writer = File::open(file.path()).unwrap();
    writer.lock().unwrap();
    let mut watched = watch(file.path());
    let mut text = shown(&watched);
    drop(writer);
    watched.read().unwrap();
    text += &shown(&watched);
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    assert_eq!(documented, names.map(|(name, _)| name).collect::<BTreeSet<&str>>());
}
