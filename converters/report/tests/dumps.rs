//! The verdict on thread dumps of all families against the right answers.

use std::path::Path;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_report::{
    ReportOptions, find,
    sections::{
        dumps::{DumpFindings, dump_findings},
        verdict::Verdict,
    },
};

fn open(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/dumps");
    Recording::open(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn judged(names: &[&str]) -> (serde_json::Value, DumpFindings) {
    let logs: Vec<Recording> = names.iter().map(|name| open(name)).collect();
    let (filter, options) = (Filter::default(), ReportOptions::default());
    let findings = find(&logs, &filter, &options, &|_| {});
    let verdict = serde_json::to_value(Verdict::of(&findings)).unwrap();
    (verdict, dump_findings(&findings).unwrap())
}

/// What is wrong with the verdict on a file, of which a line has the answer.
fn wrong(line: &str) -> Option<String> {
    let [file, kind, name, holder, waiting] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line}");
    };
    let (verdict, _) = judged(&[file]);
    let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    let is_part = |part: &str, of: &str| part == "-" || of.contains(part);
    let is_right = text("kind") == kind
        && is_part(name, &text("name"))
        && is_part(holder, &text("holder"))
        && (holder == "-") == text("holder").is_empty()
        && verdict["contended"].as_u64() == waiting.parse().ok();
    (!is_right).then(|| format!("{line}: {verdict:#}"))
}

#[test]
fn answers_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/dumps");
    let answers = std::fs::read_to_string(folder.join("answers.txt")).unwrap();
    let lines: Vec<&str> = answers.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 40, "{}", lines.len());
    let wrong: Vec<String> = lines.iter().filter_map(|line| wrong(line)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_series_of_files_is_one_of_dumps() {
    let names =
        ["hotspot-11-adapter-3.txt", "hotspot-11-adapter-1.txt", "hotspot-11-adapter-2.txt"];
    let (verdict, found) = judged(&names);
    let pool = found.crowds.iter().find(|it| it.is_pool).unwrap();
    assert_eq!(pool.per_dump, [2, 9, 10], "in the order of time");
    assert_eq!((found.dumps, found.deadlocks.len()), (3, 0));
    let lock = found.blocked.iter().find(|it| it.class.ends_with("DataOutputStream")).unwrap();
    assert_eq!((lock.in_dumps, lock.most_waiters, lock.waiters), (2, 3, 1));
    assert_eq!(lock.holders[0].thread, "AsynchThread-1");
    assert_eq!(verdict["kind"], "wait");
}

#[test]
fn a_lock_that_moves_is_one_and_threads_that_do_not_are_told() {
    let (_, found) = judged(&["log-with-dumps.txt"]);
    let [lock] = &found.blocked[..] else { panic!("{:?}", found.blocked) };
    assert_eq!((lock.in_dumps, lock.waiters), (2, 1));
    assert_eq!(found.unmoved.len(), 1, "{:?}", found.unmoved);
    let cpu: Vec<u64> = found.cpu.iter().map(|row| row.cpu_ns).collect();
    assert_eq!(cpu, [1_000_000], "the difference");
}

#[test]
fn the_jvm_s_section_is_checked() {
    let (_, found) = judged(&["hotspot-7-deadlock.txt"]);
    assert_eq!(found.told_deadlocked, 3);
    let [deadlock] = &found.deadlocks[..] else { panic!("{:?}", found.deadlocks) };
    let names: Vec<&str> = deadlock.threads.iter().map(|it| it.thread.as_str()).collect();
    assert_eq!((names, deadlock.behind), (vec!["Thread-97", "Thread-1"], 5));
}
