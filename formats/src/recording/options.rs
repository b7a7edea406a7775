//! The options that were in force: some can change while the JVM runs.

use super::Recording;
use std::{borrow::Cow, collections::HashMap};

/// An option that has another value from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionChange<'a> {
    /// Since when, monotonic ns; not before the log's first moment.
    pub from_ns: u64,
    /// Its key in the metadata.
    pub key: Cow<'a, str>,
    /// Its value as the metadata have it; empty if there is none any more.
    pub value: Cow<'a, str>,
}

impl Recording {
    /// The options that have other values than the metadata say, or than they had
    /// before, in the order of time. A file that begins after a change may repeat it.
    pub fn option_changes(&self) -> Vec<OptionChange<'_>> {
        let mut told = self.definitions.changed_options().to_vec();
        told.sort_by_key(|changed| changed.from_ns);
        let mut known: HashMap<Cow<'_, str>, Cow<'_, str>> = HashMap::new();
        let mut changes = Vec::new();
        for changed in told {
            let (key, value) = (self.text(changed.key), self.text(changed.value));
            let at_start = || self.facts.metadata(&key).unwrap_or_default();
            let before = known.get(&key).map_or_else(at_start, |value| value.as_ref());
            if before != value.as_ref() {
                known.insert(key.clone(), value.clone());
                let from_ns = changed.from_ns.max(self.start_ns());
                changes.push(OptionChange { from_ns, key, value });
            }
        }
        changes
    }

    /// The values that an option had in this log, in the order of time, without those
    /// of before its first moment. Empty where the log does not say, or where it had
    /// none; `key` is that of the metadata.
    pub fn option_values(&self, key: &str) -> Vec<Cow<'_, str>> {
        let mut values: Vec<Cow<'_, str>> = Vec::new();
        values.extend(self.facts.metadata(key).map(Cow::Borrowed));
        for change in self.option_changes().into_iter().filter(|change| change.key == key) {
            if change.from_ns <= self.start_ns() {
                values.clear();
            }
            values.push(change.value);
        }
        values.retain(|value| !value.is_empty());
        values.dedup();
        values
    }

    /// The value that an option had at the end, as [`Recording::option_values`].
    pub fn option(&self, key: &str) -> Option<Cow<'_, str>> {
        self.option_values(key).pop()
    }

    /// Whether each hold became a record, from the log's first moment to its last.
    pub fn has_every_event(&self) -> bool {
        // Where trace mode began later, its first value is none of the metadata's.
        self.facts.metadata("events") == Some("all") && self.option_values("events") == ["all"]
    }
}
