//! The tables of Parquet, read back by the library that wrote them; `tests/sql.rs` asks
//! databases.

use crate::{
    support::timed::{self, AggregatedLogs},
    times::frozen,
};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{Field, Row},
};
use std::{fs::File, path::Path};
use tyrion_converters::outputs::{Stream, by_name};
use tyrion_model::{
    filter::{Filter, Kinds},
    timeline::AT_A_TIME,
};

const TABLES: [&str; 6] = ["cells", "locks", "runs", "stacks", "threads", "waits"];

fn write(read: &AggregatedLogs, at_a_time: usize, folder: &Path) {
    let Stream::Folder(write) = by_name("parquet").unwrap().stream else { panic!("no folder") };
    write(&read.timeline(at_a_time), folder).unwrap();
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn number(row: &Row, column: &str) -> u64 {
    match row.get_column_iter().find(|(name, _)| *name == column) {
        Some((_, Field::Long(number))) => u64::try_from(*number).unwrap(),
        other => panic!("{column}: {other:?}"),
    }
}

fn all_kinds() -> Filter {
    Filter { kinds: Kinds::all(), ..Filter::default() }
}

fn logs() -> Vec<(&'static str, AggregatedLogs)> {
    let read = |log: &str| AggregatedLogs::new(vec![frozen(log)], all_kinds());
    vec![
        ("small", read("v1-small.log")),
        ("wakers", read("v1-wakers.log")),
        ("holds", read("v1-holds.log")),
        ("two", AggregatedLogs::new(vec![timed::shop(), timed::bank()], all_kinds())),
        ("nothing", AggregatedLogs::new(Vec::new(), Filter::default())),
    ]
}

#[test]
fn waits_and_cells_together_are_all_waits() {
    for (name, read) in logs() {
        let folder = tempfile::tempdir().unwrap();
        write(&read, AT_A_TIME, folder.path());
        let (waits, cells) = (rows(folder.path(), "waits"), rows(folder.path(), "cells"));
        let sum = |rows: &[Row], column| rows.iter().map(|row| number(row, column)).sum::<u64>();
        let count = waits.len() as u64 + sum(&cells, "count");
        let wait_ns = sum(&waits, "wait_ns") + sum(&cells, "wait_ns");
        let timeline = read.timeline(AT_A_TIME);
        assert_eq!((count, wait_ns), timeline.profile().totals(), "{name}");
        // What rows refer to is there.
        for (table, column) in
            [("locks", "lock"), ("stacks", "stack"), ("runs", "run"), ("threads", "thread")]
        {
            let known: Vec<u64> =
                rows(folder.path(), table).iter().map(|row| number(row, column)).collect();
            for row in waits.iter().chain(&cells) {
                assert!(known.contains(&number(row, column)), "{name}: {column} of {row:?}");
            }
        }
        let stacks = rows(folder.path(), "stacks");
        assert_eq!(stacks.len(), timeline.profile().stacks.len());
        for (id, row) in (0u32..).zip(&stacks) {
            let frames = timeline.profile().frames_of(id).count();
            let Some((_, Field::ListInternal(list))) =
                row.get_column_iter().find(|(name, _)| *name == "frames")
            else {
                panic!("{row:?}")
            };
            assert_eq!(list.elements().len(), frames, "{row:?}");
        }
    }
}

/// Neither the number of workers nor how much is in memory at a time shows.
#[test]
fn tables_are_the_same_to_the_byte() {
    for (name, read) in logs() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&read, AT_A_TIME, one.path());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| write(&read, 3, other.path()));
        for table in TABLES {
            let bytes = |folder: &Path| std::fs::read(folder.join(format!("{table}.parquet")));
            assert!(bytes(one.path()).unwrap() == bytes(other.path()).unwrap(), "{name}: {table}");
        }
    }
}

#[test]
fn a_folder_that_is_there_keeps_its_other_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    std::fs::write(folder.path().join("waits.parquet"), "old").unwrap();
    let read = AggregatedLogs::new(vec![timed::bank()], all_kinds());
    write(&read, AT_A_TIME, folder.path());
    assert_eq!(std::fs::read(folder.path().join("notes.txt")).unwrap(), b"mine");
    assert!(!rows(folder.path(), "waits").is_empty());
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let files = TABLES.iter().map(|table| format!("{table}.parquet"));
    let mut expected: Vec<String> = files.chain(["notes.txt".to_owned()]).collect();
    expected.sort();
    assert_eq!(names, expected);
    // Nor is anything left beside it.
    let hidden = std::fs::read_dir(folder.path().parent().unwrap()).unwrap();
    let ours = format!(".tyrion-{}-", std::process::id());
    let left = hidden
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(&ours));
    let folders = left.filter(|entry| entry.as_ref().unwrap().path().join("runs.parquet").exists());
    assert_eq!(folders.count(), 0);
}
