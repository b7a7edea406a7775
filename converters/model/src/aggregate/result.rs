//! What aggregation gives.

use super::{ids::LogIds, notes::Notes};
use crate::{
    profile::{Profile, State},
    totals::{KindTotals, SampleTotals},
};
use tyrion_formats::Damage;
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
