//! What samples are summed to, and by what.

use super::super::sampled::StateTimes;
use tyrion_model::profile::SampleRow;
use tyrion_wire::WaitKind;

/// The stack that is left of a sample's, and the lock that the thread was
/// blocked on, if that is known.
pub(super) type Leaf = (u32, Option<(u32, WaitKind)>);

/// What was summed.
#[derive(Clone, Copy, Default)]
pub(super) struct SampledTimes {
    pub(super) samples: u64,
    pub(super) cpu_ns: u64,
    pub(super) states: StateTimes,
}

impl SampledTimes {
    pub(super) fn add_sample(&mut self, sample: &SampleRow) {
        self.samples = self.samples.saturating_add(sample.count);
        self.cpu_ns = self.cpu_ns.saturating_add(sample.cpu_ns);
        self.states.add(sample.state, sample.wall_ns);
    }

    pub(super) fn add(&mut self, other: &SampledTimes) {
        self.samples = self.samples.saturating_add(other.samples);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.states.add_all(&other.states);
    }
}
