//! `tyrion report --json`, read back.

use super::{stdout_of, tyrion};
use serde_json::Value;
use std::path::Path;

/// A report on logs.
pub struct Report {
    value: Value,
}

impl Report {
    /// What `tyrion report --json` says about a log, all of it.
    pub fn of(log: &Path) -> Report {
        Report::with(&[log], &["--top=0"])
    }

    /// What it says about logs with these options.
    pub fn with(logs: &[&Path], options: &[&str]) -> Report {
        let mut command = tyrion();
        command.args(["report", "--json"]).args(options).args(logs);
        let said = stdout_of(&mut command);
        let value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        Report { value }
    }

    /// A section.
    #[track_caller]
    pub fn section(&self, name: &str) -> &Value {
        let section = &self.value["sections"][name];
        assert!(section.is_object(), "no {name}: {}", self.value);
        section
    }
}

/// The entries of a list.
#[track_caller]
pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}: {value}"))
}

/// A number of an object.
#[track_caller]
pub fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number {key}: {value}"))
}

/// A share, or another number that is not whole.
#[track_caller]
pub fn share(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key}: {value}"))
}

/// A text of an object.
#[track_caller]
pub fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key}: {value}"))
}

/// Asserts that a figure is what it should be but for so large a part of it.
#[track_caller]
pub fn assert_near(what: &str, got: f64, expected: f64, part: f64) {
    let off = (got - expected).abs();
    assert!(off <= part * expected.abs(), "{what}: {got}, expected {expected} ± {part} of it");
}
