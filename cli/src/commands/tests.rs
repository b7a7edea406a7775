//! What `dump` and `info` print of the frozen logs, against the files in
//! `testdata/cli`. `BLESS=1` writes them; look at what has changed.

#[path = "../../../tests/support/golden.rs"]
pub(super) mod golden_files;

#[path = "../../../converters/tests/support/traced.rs"]
#[allow(dead_code, reason = "not all of it is for these tests")]
mod traced;

use super::{dump, info};
use regex::Regex;
use serde_json::json;
use std::path::PathBuf;
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds, States, moment};

fn testdata() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata"))
}

fn frozen(name: &str) -> Recording {
    let file = format!("{name}.log");
    Recording::from_bytes(&file, std::fs::read(testdata().join("logs").join(&file)).unwrap())
        .unwrap()
}

/// A recording of Flight Recorder or async-profiler.
fn recorded(name: &str) -> Recording {
    let packed = std::fs::read(testdata().join(format!("jfr/{name}.jfr.gz"))).unwrap();
    Recording::from_bytes(&format!("{name}.jfr"), packed).unwrap()
}

fn all() -> Filter {
    Filter { kinds: Kinds::all(), states: States::all(), ..Filter::default() }
}

fn dumped(log: &Recording, filter: &Filter, json: bool) -> String {
    let mut out = Vec::new();
    assert_eq!(dump::write(&mut out, log, filter, json).unwrap(), []);
    String::from_utf8(out).unwrap()
}

/// The logs whose text is shown by a golden file, and those whose JSON is, too: JSON has all
/// fields whatever a log tells.
const TOLD_IN_TEXT: [&str; 7] =
    ["v1-tiny", "v1-killed", "v1-trace", "v1-holds", "v1-sample", "v1-collections", "v1-wakers"];
const TOLD_IN_JSON: [&str; 3] = ["v1-killed", "v1-trace", "v1-sample"];

#[test]
fn logs_are_shown_as_ever() {
    let mut files = golden_files::GoldenFiles::new();
    for name in TOLD_IN_TEXT {
        let info = info::printed(&[frozen(name)], &all(), false);
        files.insert(format!("{name}.info.txt"), info);
    }
    for name in TOLD_IN_JSON {
        files.insert(format!("{name}.info.json"), info::printed(&[frozen(name)], &all(), true));
    }
    let in_bursts = info::printed(&[traced::log_in_bursts()], &all(), false);
    files.insert("bursts.info.txt".to_owned(), in_bursts);
    for name in ["jdk25", "async-profiler"] {
        let info = info::printed(&[recorded(name)], &all(), false);
        files.insert(format!("{name}.info.txt"), info);
    }
    let jdk25 = info::printed(&[recorded("jdk25")], &all(), true);
    files.insert("jdk25.info.json".to_owned(), jdk25);
    for (sort, json) in [("txt", false), ("json", true)] {
        for name in [
            "v1-tiny",
            "v1-trace",
            "v1-holds",
            "v1-sample",
            "v1-collections",
            "v1-wakers",
            "v1-holders",
            "v1-looks",
        ] {
            let dump = dumped(&frozen(name), &all(), json);
            files.insert(format!("{name}.dump.{sort}"), dump);
        }
        let in_bursts = traced::log_in_bursts();
        files.insert(format!("bursts.dump.{sort}"), dumped(&in_bursts, &all(), json));
    }
    golden_files::check(&testdata().join("cli"), &files);
}

/// What the JSON of other logs says that no golden file shows.
#[test]
fn json_tells_what_is_special_of_a_log() {
    let expect = |log: Recording, parts: serde_json::Value| {
        let json: serde_json::Value =
            serde_json::from_str(&info::printed(&[log], &all(), true)).unwrap();
        for (at, part) in parts.as_object().unwrap() {
            assert_eq!(json.pointer(at), Some(part), "{at} of {}", json["log"]);
        }
    };
    expect(
        frozen("v1-small"),
        json!({ "/complete": true, "/state": "closed", "/duration_ns": 9_000_000 }),
    );
    expect(frozen("v1-tiny"), json!({ "/waiting": { "contention": 1, "idle": 0 }, "/notes": [] }));
    expect(
        frozen("v1-collections"),
        json!({ "/collections": {
            "count": 2, "longest_pause_ns": 2_000_000, "lost": 1, "pause_ns": 2_400_000,
        } }),
    );
    expect(
        frozen("v1-wakers"),
        json!({ "/metadata/wakers": "true", "/callbacks/other/recorded": 1 }),
    );
    expect(
        frozen("v1-holds"),
        json!({ "/trace/hold": "all", "/trace/taken/hold_is_exact": true, "/trace/records": 8 }),
    );
    expect(
        traced::log_in_bursts(),
        json!({
            "/notes/0": "1 place was counted in bursts (count=adaptive): acquisitions are \
                         estimates, with a standard error of 1.5 % in all",
            "/trace/instrumented/methods": null,
            "/trace/own_cost_ns": {},
            "/trace/taken": {
                "acquisitions": 100_023, "acquisitions_error": 1_501, "failed": 8,
                "hold_is_exact": false, "hold_ns": 23_010_700, "longest_hold_ns": 210_000,
                "measured": 21, "reentrant": 35, "reentrant_error": 8, "uncounted": 90_000,
            },
        }),
    );
    expect(
        recorded("jdk11"),
        json!({ "/collections/count": 1, "/totals/contentions": 365, "/threads": 15 }),
    );
    expect(
        recorded("async-profiler"),
        json!({
            "/threshold_ns": null,
            "/collections": null,
            "/sampling/states/waiting/samples": 55,
            "/sampling/shown_as/idle/samples": 127,
            "/notes/0": "waits were sampled, one each time waiting had added up to 1 ms: totals \
                         lack the others, mostly shorter ones",
        }),
    );
}

/// How many lines of each record a dump has.
fn counts(log: &str, filter: &Filter) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for line in dumped(&frozen(log), filter, false).lines() {
        let record = line.split(' ').next().unwrap_or_default();
        match counts.iter_mut().find(|(known, _)| known == record) {
            Some((_, count)) => *count += 1,
            None => counts.push((record.to_owned(), 1)),
        }
    }
    counts.sort();
    counts
}

fn expect(filter: &Filter, expected: &[(&str, usize)]) {
    expect_of("v1-trace", filter, expected);
}

fn expect_of(log: &str, filter: &Filter, expected: &[(&str, usize)]) {
    let found = counts(log, filter);
    let found: Vec<(&str, usize)> =
        found.iter().map(|(record, count)| (record.as_str(), *count)).collect();
    // Statistics are of no thread, lock or time.
    let found: Vec<_> = found.into_iter().filter(|(record, _)| *record != "number").collect();
    assert_eq!(found, expected);
}

#[test]
fn filters_take_records_of_trace_mode() {
    let all_of = [
        ("blame", 1),
        ("hold", 3),
        ("lock", 5),
        ("nest", 2),
        ("taken", 5),
        ("thread", 2),
        ("wait", 1),
    ];
    expect(&all(), &all_of);
    // A lock by what the program calls it, by its class, and as waits name it,
    // which is more than cells know.
    for (pattern, taken) in [("Cache.map", 2), ("^java.lang.Object$", 2), ("Object#1$", 0)] {
        let lock = Some(Regex::new(pattern).unwrap());
        let mut expected =
            vec![("blame", 1), ("hold", 2), ("lock", 2), ("nest", 2), ("taken", taken)];
        expected.retain(|(_, count)| *count != 0);
        expected.extend([("thread", 2), ("wait", 1)]);
        expect(&Filter { lock, ..all() }, &expected);
    }
    let juc = Filter { kinds: Kinds::parse("lock").unwrap(), ..all() };
    expect(&juc, &[("hold", 1), ("lock", 1), ("nest", 2), ("taken", 1), ("thread", 2)]);
    // Blame is of who waits, too.
    let thread = |name: &str| Filter { thread: Some(Regex::new(name).unwrap()), ..all() };
    let of_filler =
        [("blame", 1), ("hold", 1), ("lock", 3), ("nest", 2), ("taken", 3), ("thread", 1)];
    expect(&thread("filler"), &of_filler);
    let of_main =
        [("blame", 1), ("hold", 2), ("lock", 2), ("taken", 2), ("thread", 1), ("wait", 1)];
    expect(&thread("main"), &of_main);
    // Cells have no time; records have one.
    let late = Filter { since: Some(moment("300us").unwrap()), ..all() };
    expect(&late, &[("blame", 1), ("hold", 1), ("nest", 1), ("thread", 2), ("wait", 1)]);
    let long = Filter { min_wait_ns: 100_000, ..all() };
    expect(&long, &[("blame", 1), ("hold", 1), ("taken", 2), ("thread", 2), ("wait", 1)]);
}

#[test]
fn filters_take_samples() {
    let expect = |filter: Filter, samples: usize, threads: usize, waits: usize| {
        let mut expected = vec![("sample", samples), ("thread", threads), ("wait", waits)];
        expected.retain(|(_, count)| *count != 0);
        expect_of("v1-sample", &filter, &expected);
        // info sums the same.
        let text = info::printed(&[frozen("v1-sample")], &filter, true);
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sampling = &report["sampling"];
        assert_eq!(sampling["records"], 9, "whatever the filter");
        assert_eq!(sampling["threads"] == 0, samples == 0);
    };
    expect(all(), 9, 5, 1);
    // What outputs show if nobody says otherwise: threads need not wait for that.
    expect(Filter { kinds: Kinds::contention(), ..all() }, 9, 5, 1);
    expect(Filter { kinds: Kinds::idle(), ..all() }, 1, 5, 0);
    let lock = |pattern: &str| Filter { lock: Some(Regex::new(pattern).unwrap()), ..all() };
    expect(lock("Stock"), 1, 5, 1);
    expect(lock("unknown"), 0, 5, 0);
    let thread = |pattern: &str| Filter { thread: Some(Regex::new(pattern).unwrap()), ..all() };
    expect(thread("http-2"), 3, 1, 1);
    expect(Filter { since: Some(moment("150ms").unwrap()), ..all() }, 5, 5, 0);
    expect(Filter { until: Some(moment("110ms").unwrap()), ..all() }, 2, 5, 0);
    // Samples know no durations of waits.
    expect(Filter { min_wait_ns: 1, ..all() }, 9, 5, 1);
    // As outputs read them: the pool's thread and the JVM's are idle.
    let states = |names: &str| Filter { states: States::parse(names).unwrap(), ..all() };
    expect(states("idle"), 2, 5, 1);
    expect(states("running,parked"), 3, 5, 1);
}

/// The program chooses the names of groups: a record is one line nevertheless.
#[test]
fn a_group_may_have_any_name() {
    use tyrion_formats::{
        wire::sample::Sample,
        write::{LogOptions, LogWriter},
    };
    let out = std::io::Cursor::new(Vec::new());
    let mut log = LogWriter::new(out, LogOptions::default()).unwrap();
    let stack = log.group("a\r\n\x1b[31mb").unwrap();
    let lane = log.lane(1);
    log.note(lane, 60, Sample { stack, ..Sample::default() }).unwrap();
    let bytes = log.finish().unwrap().into_inner();
    let log = Recording::from_bytes("a.log", bytes).unwrap();
    let text = dumped(&log, &all(), false);
    assert!(text.ends_with(" count=0 [group a___[31mb]\n"), "{text:?}");
    assert_eq!(text.lines().count(), 1);
    let lines = dumped(&log, &all(), true);
    let json: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(json["group"], "a\r\n\x1b[31mb");
}

/// A log of `mode=sample` knows of no waits, which is not the same as none.
#[test]
fn what_was_not_recorded_is_no_zero() {
    use tyrion_formats::{
        wire::sample::Sample,
        write::{LogOptions, LogWriter},
    };
    let mut options = LogOptions::default();
    options.header.metadata = vec![("mode".to_owned(), "sample".to_owned())];
    let mut log = LogWriter::new(std::io::Cursor::new(Vec::new()), options).unwrap();
    let main = log.thread(1, "main", "main", 0).unwrap();
    let lane = log.lane(main);
    let sample = Sample { wall_ns: 50, cpu_ns: 40, count: 1, state: 1, ..Sample::default() };
    log.note(lane, 60, sample).unwrap();
    let bytes = log.finish().unwrap().into_inner();
    let logs = [Recording::from_bytes("a.log", bytes).unwrap()];
    let report = info::printed(&logs, &all(), true);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(report["totals"].is_null());
    assert_eq!(report["sampling"]["states"]["running"]["cpu_ns"], 40);
    assert!(report["sampling"]["snapshots"].is_null() && report["sampling"]["period_ns"].is_null());
    let text = info::printed(&logs, &all(), false);
    assert!(text.contains("not recorded (mode=sample)"), "{text}");
    assert!(!text.contains("waits"), "{text}");
    let running = text.lines().find(|line| line.starts_with("running ")).unwrap();
    let row: Vec<&str> = running.split_whitespace().collect();
    assert_eq!(row, ["running", "1", "40", "ns", "50", "ns"]);
}

#[test]
fn info_counts_lock_objects_and_nesting() {
    let of = |filter: &Filter| {
        let text = info::printed(&[frozen("v1-trace")], filter, true);
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let trace = &report["trace"];
        let objects = &trace["instances"];
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        (
            number(&objects["one_thread"]),
            number(&objects["several_threads"]),
            number(&trace["nesting_pairs"]),
        )
    };
    // The turn; the map and the class object. The map in the turn, and the
    // class object in both.
    assert_eq!(of(&all()), (1, 2, 3));
    let lock = Some(Regex::new("Cache.turn").unwrap());
    assert_eq!(of(&Filter { lock, ..all() }), (1, 0, 2));
    let thread = Some(Regex::new("main").unwrap());
    assert_eq!(of(&Filter { thread, ..all() }), (0, 2, 0), "main shares with filler");
}
