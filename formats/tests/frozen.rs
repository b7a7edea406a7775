//! Frozen logs of each format version are read as ever.

use crate::common;
use std::{collections::BTreeSet, path::Path};
use tyrion_formats::Recording;

fn dir() -> String {
    format!("{}/testdata/logs", common::ROOT)
}

fn names(extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// `BLESS=1` writes the dumps anew; look at what has changed.
#[test]
fn frozen_logs_are_read_as_ever() {
    let bless = std::env::var_os("BLESS").is_some();
    let logs = names("log");
    assert!(!logs.is_empty());
    for name in &logs {
        let path = format!("{}/{name}.log", dir());
        // As a file and as a stream.
        let mapped = Recording::open(Path::new(&path)).unwrap();
        let read = Recording::from_bytes(&path, std::fs::read(&path).unwrap()).unwrap();
        let dump = common::dump(&mapped);
        assert_eq!(dump, common::dump(&read));
        let golden = format!("{}/{name}.txt", dir());
        if bless {
            std::fs::write(&golden, &dump).unwrap();
        }
        let expected = std::fs::read_to_string(&golden)
            .unwrap_or_else(|error| panic!("{golden}: {error}; make it with BLESS=1"));
        assert_eq!(dump, expected, "{name}.log is read in another way than before");
    }
    assert_eq!(logs, names("txt"), "a log without dump, or a dump without log");
}
