//! What `dump` and `info` print of the frozen logs, against the files in
//! `testdata/cli`. `BLESS=1` writes them; look at what has changed.

use super::{dump, info};
use regex::Regex;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tyrion_converters::filter::{Filter, Kinds, moment};
use tyrion_formats::Log;

fn testdata() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata"))
}

fn frozen(name: &str) -> Log {
    let file = format!("{name}.log");
    Log::from_bytes(&file, std::fs::read(testdata().join("logs").join(&file)).unwrap()).unwrap()
}

fn all() -> Filter {
    Filter { kinds: Kinds::all(), ..Filter::default() }
}

fn dumped(log: &Log, filter: &Filter, json: bool) -> String {
    let mut out = Vec::new();
    assert_eq!(dump::write(&mut out, log, filter, json).unwrap(), []);
    String::from_utf8(out).unwrap()
}

fn compare(file: &Path, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, text).unwrap();
    }
    let expected = std::fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("{}: {error}; make it with BLESS=1", file.display()));
    assert!(text == expected, "{} differs; BLESS=1 shows where", file.display());
}

#[test]
fn logs_are_shown_as_ever() {
    let folder = testdata().join("cli");
    let mut expected = BTreeSet::new();
    let mut check = |file: String, text: &str| {
        compare(&folder.join(&file), text);
        expected.insert(file);
    };
    for (sort, json) in [("txt", false), ("json", true)] {
        for name in ["v1-tiny", "v1-small", "v1-killed", "v1-trace"] {
            let info = info::report(&[frozen(name)], &all(), json);
            check(format!("{name}.info.{sort}"), &info);
        }
        for name in ["v1-tiny", "v1-trace"] {
            let dump = dumped(&frozen(name), &all(), json);
            check(format!("{name}.dump.{sort}"), &dump);
        }
    }
    let found = std::fs::read_dir(&folder).unwrap();
    let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}

/// How many lines of each record a dump has.
fn counts(filter: &Filter) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for line in dumped(&frozen("v1-trace"), filter, false).lines() {
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
    let found = counts(filter);
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
fn info_counts_lock_objects_and_nesting() {
    let of = |filter: &Filter| {
        let text = info::report(&[frozen("v1-trace")], filter, true);
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
