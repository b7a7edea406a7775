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
    /// What logs must have recorded for it to be shown where nobody asks for it.
    pub about: About,
    /// Answers it.
    pub answer: fn(&Findings<'_>, &Options) -> Answer,
}

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Whatever was recorded.
    All,
    /// Locks and those who wait for them.
    Locks,
    /// Samples of what threads were doing.
    Samples,
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
    /// At most so many lines of source code; 0 for all.
    pub lines: usize,
    /// At most so many groups of threads in each tree; 0 for all.
    pub groups: usize,
    /// By what threads are one group in a tree, as
    /// [`Grouping::parse`](tyrion_converters::grouping::Grouping::parse) reads
    /// it.
    pub group_by: String,
    /// The packages that stacks of trees and lines are cut down to; none for
    /// whole stacks.
    pub packages: Vec<String>,
    /// The length of the intervals that have a tree of their own; 0 for a single
    /// tree.
    pub interval_ns: u64,
    /// Whether the first of them begins with the time that the filter asks for,
    /// and not with the first log.
    pub interval_from_since: bool,
    /// Whether trees show what took no time, too.
    pub zero: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            top: 20,
            phase_ns: 1_000_000_000,
            near_ns: 1_000_000,
            lines: 40,
            groups: 0,
            group_by: "digits".to_owned(),
            packages: Vec::new(),
            interval_ns: 0,
            interval_from_since: false,
            zero: false,
        }
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
