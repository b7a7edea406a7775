//! From logs to a profile.
//!
//! The events of a log are cut into pieces of one thread each, so that a
//! worker adds waits into a dense vector with one place for each site. Pieces
//! are handed out to the workers of the current rayon pool. Sums are whole
//! numbers that never wrap, so neither the order of the pieces nor the number
//! of workers changes the result, and what is kept grows with the distinct
//! (thread, site), not with the events.

mod acquired;
mod build;
mod fold;
mod hash;
mod ids;
pub(crate) mod java;
mod notes;
mod pass;
mod resolve;
mod sampled;
mod spread;
mod sums;
#[cfg(test)]
mod tests;
mod trace;

pub use ids::LogIds;
pub use notes::{Lost, Notes};

use crate::{
    filter::Filter,
    profile::Profile,
    states::{Reader, State},
};
use build::Builder;
use sampled::Samples;
use tyrion_formats::{Damage, Recording};
use tyrion_wire::WaitKind;

/// Everything that one pass over logs tells.
#[derive(Clone, Debug, Default)]
pub struct Aggregate {
    /// The waits that the filter lets through.
    pub profile: Profile,
    /// The same, by kind; see [`Aggregate::kind`].
    pub kinds: [KindTotals; WaitKind::ALL.len()],
    /// Records of waits that were decoded, whatever the filter.
    pub events: u64,
    /// Bytes that they take in the logs.
    pub event_bytes: u64,
    /// Waits that cells stand for, whatever the filter.
    pub folded: u64,
    /// Acquisitions, whatever the filter.
    pub acquisitions: u64,
    /// The samples of the chosen threads by state, whether the filter lets the
    /// state through or not; see [`Aggregate::state`].
    pub states: [SampleTotals; State::ALL.len()],
    /// Records of samples that were decoded, whatever the filter.
    pub sample_records: u64,
    /// What became of the ids of each log, for who reads it once more.
    pub ids: Vec<LogIds>,
    /// What a reader of the profile should know.
    pub notes: Notes,
    /// What was damaged in the logs, those places included that were seen
    /// when they were opened.
    pub damage: Vec<Damage>,
}

/// Samples added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTotals {
    /// How many snapshots.
    pub snapshots: u64,
    /// The real time that they stand for, in ns.
    pub wall_ns: u64,
    /// The CPU time that was used meanwhile, in ns.
    pub cpu_ns: u64,
}

impl SampleTotals {
    /// Adds others.
    pub fn add(&mut self, other: &SampleTotals) {
        self.snapshots = self.snapshots.saturating_add(other.snapshots);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }
}

/// The waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotals {
    /// Waits with a record of their own.
    pub recorded: u64,
    /// Their durations added up, in ns.
    pub recorded_ns: u64,
    /// Waits below the threshold, folded when recorded.
    pub folded: u64,
    /// Their durations added up, in ns.
    pub folded_ns: u64,
}

impl KindTotals {
    /// All waits, and their durations added up in ns.
    pub fn total(&self) -> (u64, u64) {
        let count = self.recorded.saturating_add(self.folded);
        (count, self.recorded_ns.saturating_add(self.folded_ns))
    }
}

impl std::ops::AddAssign for KindTotals {
    fn add_assign(&mut self, other: KindTotals) {
        self.recorded = self.recorded.saturating_add(other.recorded);
        self.recorded_ns = self.recorded_ns.saturating_add(other.recorded_ns);
        self.folded = self.folded.saturating_add(other.folded);
        self.folded_ns = self.folded_ns.saturating_add(other.folded_ns);
    }
}

impl Aggregate {
    /// The waits of a kind.
    pub fn kind(&self, kind: WaitKind) -> KindTotals {
        self.kinds[usize::from(kind.code()) - 1]
    }

    /// The samples in a state.
    pub fn state(&self, state: State) -> SampleTotals {
        self.states[state as usize]
    }

    /// Lock contention of all kinds added up.
    pub fn contention(&self) -> KindTotals {
        let mut sum = KindTotals::default();
        for kind in WaitKind::ALL.into_iter().filter(|kind| kind.is_contention()) {
            sum += self.kind(kind);
        }
        sum
    }
}

/// How many bytes [`aggregate`] will report to its `progress` in the end.
pub fn work_bytes(logs: &[Recording]) -> u64 {
    let chunks = logs.iter().flat_map(|log| {
        log.event_chunks().iter().chain(log.cell_chunks()).chain(log.acquisition_chunks())
    });
    chunks.map(|chunk| u64::from(chunk.committed)).sum()
}

/// Sums what logs hold into one profile, on all workers of the current
/// rayon pool. `progress` is told how many more bytes are done, from any of
/// them.
pub fn aggregate(
    logs: &[Recording],
    filter: &Filter,
    progress: &(dyn Fn(u64) + Sync),
) -> Aggregate {
    let mut builder = Builder::new(filter);
    for log in logs {
        let window = filter.window(log);
        let reader = Reader::new(log);
        let samples = Samples { reader: &reader, kinds: filter.kinds_of_samples() };
        builder.add(log, &window, pass::run(log, &window, samples, progress));
    }
    builder.finish()
}
