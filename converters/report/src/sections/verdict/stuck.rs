//! Deadlocks, and threads that had waited for a long time when the recording ended.

use super::super::still_waiting::{Deadlock, Waiting, still_waiting};
use crate::{Findings, ReportOptions};
use std::collections::HashMap;

/// A wait that is shorter is not long.
const LEAST_NS: u64 = 1_000_000_000;
/// A wait of this length is always long.
const LONG_NS: u64 = 10_000_000_000;
/// In between, a wait is long if it lasts for this part of the recording.
const PART_OF_RECORDING: u64 = 10;

/// Threads that cannot continue.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    /// The deadlock that lasted longest.
    pub(super) deadlock: Option<Deadlock>,
    /// How many deadlocks there are.
    pub(super) deadlocks: usize,
    /// Whether the program was killed, or still runs.
    pub(super) is_unfinished: bool,
    /// How many threads wait for those in a deadlock.
    pub(super) behind: usize,
    /// Threads in no deadlock that had waited for a long time: the longest waits first.
    pub(super) waiting: Vec<Waiting>,
}

impl Stuck {
    /// The threads that the verdict is about.
    pub(super) fn threads(&self) -> Vec<String> {
        let all = match &self.deadlock {
            Some(deadlock) => &deadlock.threads,
            None => &self.waiting,
        };
        all.iter().map(|waiting| waiting.thread.clone()).collect()
    }
}

/// Finds them.
pub(super) fn find(findings: &Findings<'_>) -> Stuck {
    let found = still_waiting(findings, &ReportOptions { top: 0, ..ReportOptions::default() });
    let deadlocks = found.deadlocks.len();
    // The first of those that lasted equally long.
    let longest = found.deadlocks.into_iter().rev().max_by_key(|deadlock| deadlock.lasted_ns);
    let behind = found.waiting.iter().filter(|it| it.state == "behind-deadlock").count();
    let ended = longest_ended(findings);
    let is_long = |it: &Waiting| {
        let key = (it.lock.class.as_str(), it.lock.name.as_str());
        let usual_ns = findings.groups.find(key.0, key.1).and_then(|group| ended.get(&group));
        it.state == "lock" && it.waited_ns >= long_ns(findings) && Some(&it.waited_ns) > usual_ns
    };
    let waiting = found.waiting.iter().filter(|it| is_long(it)).cloned().collect();
    let is_unfinished = found.unfinished_logs != 0;
    Stuck { deadlock: longest, deadlocks, is_unfinished, behind, waiting }
}

/// The duration from which on a wait that has not ended is long.
fn long_ns(findings: &Findings<'_>) -> u64 {
    (findings.axis.duration_ns / PART_OF_RECORDING).clamp(LEAST_NS, LONG_NS)
}

/// The longest wait that ended, by lock group: if waits of some seconds are usual, the
/// last one is not worth mentioning.
fn longest_ended(findings: &Findings<'_>) -> HashMap<u32, u64> {
    let mut longest: HashMap<u32, u64> = HashMap::new();
    for wait in findings.profile().waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let of_group = longest.entry(findings.groups.of(wait.lock)).or_default();
        *of_group = (*of_group).max(wait.max_ns);
    }
    longest
}
