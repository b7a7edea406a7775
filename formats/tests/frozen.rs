//! Frozen logs of each format version are read as ever.

use crate::{common, golden_files};
use std::path::{Path, PathBuf};
use tyrion_formats::Recording;

fn folder() -> PathBuf {
    Path::new(common::ROOT).join("testdata/logs")
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
            (name, dump)
        })
        .collect();
    assert!(!dumps.is_empty());
    golden_files::check_of(&folder(), &dumps, |name| name.ends_with(".txt"));
}
