//! Frozen logs of each format version are read as ever.

use crate::{common, golden_files};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};
use tyrion_formats::Recording;

fn folder() -> PathBuf {
    Path::new(common::ROOT).join("testdata/logs")
}

/// So many records of one chunk stand in a golden file; for those behind them there is a
/// checksum.
const SHOWN: usize = 12;

/// A dump in which few records of each chunk are shown.
fn shortened(dump: &str) -> String {
    let mut short = String::new();
    let lines: Vec<&str> = dump.lines().collect();
    for run in lines.chunk_by(|one, next| is_record(one) && is_record(next)) {
        let (shown, others) = run.split_at(run.len().min(SHOWN));
        shown.iter().for_each(|line| writeln!(short, "{line}").unwrap());
        if !others.is_empty() {
            let waited_ns: u64 = others.iter().map(|line| wait_ns(line)).sum();
            let (count, checksum) = (others.len(), checksum(others));
            writeln!(short, "{count} more waited {waited_ns} ns: checksum {checksum:016x}")
                .unwrap();
        }
    }
    short
}

fn is_record(line: &str) -> bool {
    line.starts_with("thread=")
}

fn wait_ns(line: &str) -> u64 {
    let word = line.split(' ').find_map(|word| word.strip_prefix("wait_ns="));
    word.map_or(0, |number| number.parse().unwrap())
}

/// The lines' FNV-1a hash.
fn checksum(lines: &[&str]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn frozen_logs_are_read_as_ever() {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let logs = entries.filter(|path| path.extension().is_some_and(|found| found == "log"));
    let dumps: golden_files::GoldenFiles = logs
        .map(|path| {
            // As a file and as a stream.
            let mapped = Recording::open(&path).unwrap();
            let read = Recording::from_bytes("a.log", std::fs::read(&path).unwrap()).unwrap();
            let dump = common::dump(&mapped);
            assert_eq!(dump, common::dump(&read));
            let name = path.with_extension("txt").file_name().unwrap().to_str().unwrap().to_owned();
            (name, shortened(&dump))
        })
        .collect();
    assert!(!dumps.is_empty());
    golden_files::check_of(&folder(), &dumps, |name| name.ends_with(".txt"));
}
