//! What a section of the report is.

use crate::{Findings, View};

/// One question that the report answers.
pub struct Section {
    /// Its name in `--section` and in the JSON, `lock-order`.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it shows, in one line.
    pub means: &'static str,
    /// What to do about it, in one line.
    pub advice: &'static str,
    /// Answers it.
    pub answer: fn(&Findings<'_>, &Options) -> Answer,
}

/// How sections shall answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// At most so many rows in each table, and entries in each list; 0 for all.
    pub top: usize,
    /// The length of a phase in ns, for what is told by phase.
    pub phase_ns: u64,
    /// Within how many ns after a release an acquisition by another thread is a
    /// near miss.
    pub near_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { top: 20, phase_ns: 1_000_000_000, near_ns: 1_000_000 }
    }
}

/// A section's answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// For machines: the section's own documented type, serialized. Durations
    /// are integers in ns with names that end in `_ns`.
    pub json: serde_json::Value,
    /// For eyes: the same.
    pub view: View,
    /// What the logs lack for a full answer and how to record it, in one line
    /// ("needs --mode trace: ..."). Empty when nothing does. The rest of the
    /// answer is then what can be said without it.
    pub lacking: String,
    /// Whether anything was found that the section's advice is for.
    pub advises: bool,
}
