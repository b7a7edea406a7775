//! How the report shall answer.

use schemars::JsonSchema;
use serde::Serialize;

/// How sections shall answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportOptions {
    /// At most so many rows in each table, and entries in each list; 0 for all.
    pub top: usize,
    /// The length of a phase in ns, for what is told by phase.
    pub phase_ns: u64,
    /// Within how many ns after a release an acquisition by another thread is a
    /// near miss.
    pub near_ns: u64,
    /// Whether they are looked for, which takes time.
    #[serde(skip)]
    pub near_misses: bool,
    /// Whether it is predicted what changes of locks would gain, which takes time, too.
    #[serde(skip)]
    pub what_if: bool,
    /// At most so many lines of source code; 0 for all.
    pub lines: usize,
    /// At most so many groups of threads in each tree; 0 for all.
    pub groups: usize,
    /// By what threads are one group in a tree, as
    /// [`Grouping::parse`](tyrion_model::grouping::Grouping::parse) reads
    /// it.
    pub group_by: String,
    /// The packages that stacks of trees, lines and contended locks are cut down to; none for
    /// whole stacks.
    pub packages: Vec<String>,
    /// The length of the intervals that have a tree of their own; 0 for a single
    /// tree.
    pub interval_ns: u64,
    /// Whether the first of them begins with the time that the filter asks for,
    /// and not with the first log.
    #[serde(skip)]
    pub interval_from_since: bool,
    /// Whether trees show what took no time, too.
    pub zero: bool,
    /// Whether text shows what matters most, and says how to see the rest.
    #[serde(skip)]
    pub brief: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        ReportOptions {
            top: 20,
            phase_ns: 1_000_000_000,
            near_ns: 1_000_000,
            near_misses: true,
            what_if: true,
            lines: 40,
            groups: 0,
            group_by: "digits".to_owned(),
            packages: Vec::new(),
            interval_ns: 0,
            interval_from_since: false,
            zero: false,
            brief: false,
        }
    }
}
