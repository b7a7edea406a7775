//! Totals do not depend on the threshold, and the agent's own count agrees.

use crate::support::{Jdk, Program, Recording, assert_close, on_jdks};
use serde_json::Value;

on_jdks!(storms: everywhere three);
on_jdks!(a_thousand_appending_threads: everywhere two);

const THRESHOLDS: [&str; 3] = ["0", "auto", "1ms"];

fn number(info: &Value, path: &str) -> u64 {
    info.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}"))
}

/// Every wait that the agent saw end is in the log.
fn check_account(recording: &Recording, threshold: &str) -> Value {
    let info = recording.info();
    assert_eq!(info["complete"], true, "{threshold}");
    let callbacks = |key: &str| number(&info, &format!("/callbacks/contention/{key}"));
    assert_eq!(callbacks("dropped"), 0, "{threshold}");
    assert_eq!(callbacks("ended"), callbacks("recorded") + callbacks("folded"), "{threshold}");
    let totals = |key: &str| number(&info, &format!("/totals/{key}"));
    assert_eq!(totals("contentions"), callbacks("ended"), "{threshold}");
    assert_eq!(totals("folded"), callbacks("folded"), "{threshold}");
    assert_eq!(totals("dropped"), 0, "{threshold}");
    let counted: u64 =
        recording.waits().iter().filter(|wait| wait.is_contention()).map(|wait| wait.count).sum();
    assert_eq!(counted, totals("contentions"), "{threshold}");
    info
}

fn storms(jdk: &Jdk) {
    for threshold in THRESHOLDS {
        let program = Program::truth(jdk, "storm 2 monitor").pinned();
        let recording = program.option(&format!("--threshold={threshold}")).record();
        let info = check_account(&recording, threshold);
        let blocked = recording.number("total_blocked_count");
        // How many there are depends on the machine and what else it does.
        assert!(blocked > 300, "{blocked} is no storm");
        let waits = recording.contentions().into_iter();
        let of_storm = waits.filter(|wait| wait.thread.starts_with("storm-"));
        let counted = of_storm.map(|wait| wait.count).sum();
        assert_close(threshold, counted, blocked, blocked / 100);
        if threshold == "1ms" {
            assert!(number(&info, "/totals/folded") > 0);
        }
    }
}

fn a_thousand_appending_threads(jdk: &Jdk) {
    for threshold in THRESHOLDS {
        let program = Program::truth(jdk, "appends 1000 1000");
        let recording = program.option(&format!("--threshold={threshold}")).record();
        assert_eq!(recording.number("acquisitions"), 1_000_000);
        check_account(&recording, threshold);
    }
}
