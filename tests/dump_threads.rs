//! Thread dumps that `tyrion dump-threads` takes of JVMs without an agent.

use crate::{
    attaching::unrecorded,
    support::{Jdk, on_jdks, stdout_of, text, tyrion},
};
use serde_json::Value;

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
    // No agent was loaded.
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("tyrion_agent"), "{maps}");
}
