//! The pass over samples, and their rows in the profile.

use super::{
    SampleTotals, acquired::ThreadRows, hash::Table, pass::known_thread, resolve::Resolver,
};
use crate::{
    filter::{States, Window},
    merge::merge,
    profile::Sample,
    states::{Reader, State},
};
use std::collections::BTreeMap;
use tyrion_formats::{Log, Sampled};
use tyrion_wire::WaitKind;

/// Stands for stacks whose definition is lost.
const LOST_STACK: u32 = u32::MAX;

/// Thread, stack, state, lock and kind.
type Key = (u32, u32, State, u32, Option<WaitKind>);

/// What the pass over a log finds of samples. Sums in no order.
#[derive(Default)]
pub(super) struct SampleSums {
    sums: Table<Key, SampleTotals>,
    /// Records that were decoded, whatever the filter.
    pub(super) records: u64,
    /// Samples that the filter cannot choose from.
    pub(super) unsorted: SampleTotals,
}

impl SampleSums {
    /// How many sums there are.
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Adds sums and leaves `other` empty.
    pub(super) fn add(&mut self, other: &mut SampleSums) {
        for (key, sums) in other.sums.drain() {
            self.sums.entry(key).or_default().add(&sums);
        }
        self.records += std::mem::take(&mut other.records);
        self.unsorted.add(&std::mem::take(&mut other.unsorted));
    }

    /// The threads that were sampled, some of them more than once.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.sums.keys().map(|key| key.0)
    }
}

/// Sums samples.
pub(super) struct Sampler<'a> {
    log: &'a Log,
    window: &'a Window,
    /// Nothing if the filter asks for what samples do not have.
    reader: Option<&'a Reader<'a>>,
    pub(super) sums: SampleSums,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(log: &'a Log, window: &'a Window, reader: Option<&'a Reader<'a>>) -> Self {
        Sampler { log, window, reader, sums: SampleSums::default() }
    }

    /// Adds a sample. There are few beside waits: their code shall not take
    /// the place of that of waits.
    #[inline(never)]
    pub(super) fn record(&mut self, sampled: &Sampled) {
        self.sums.records += 1;
        let totals = SampleTotals {
            snapshots: sampled.sample.count,
            wall_ns: sampled.sample.wall_ns,
            cpu_ns: sampled.sample.cpu_ns,
        };
        let Some(reader) = self.reader else { return self.sums.unsorted.add(&totals) };
        if self.window.holds(sampled.at_ns) {
            let key = self.key(sampled, reader.state(sampled));
            self.sums.sums.entry(key).or_default().add(&totals);
        }
    }

    /// Made-up ids shall not take memory.
    fn key(&self, sampled: &Sampled, state: State) -> Key {
        let definitions = self.log.definitions();
        let (stack, lock) = (sampled.sample.stack, sampled.sample.lock);
        let is_known = (stack as usize) < definitions.stacks().len();
        let stack = if is_known { stack } else { LOST_STACK };
        let lock = if definitions.locks().get(lock).is_some() { lock } else { 0 };
        (known_thread(self.log, sampled.thread), stack, state, lock, sampled.kind())
    }
}

/// Adds the samples of these threads, ascending, in these states to their rows.
/// Returns what all states have.
pub(super) fn add_rows(
    sums: SampleSums,
    threads: &[u32],
    states: States,
    resolver: &mut Resolver<'_>,
    rows: &mut BTreeMap<u32, ThreadRows>,
) -> [SampleTotals; State::ALL.len()] {
    let mut by_state = [SampleTotals::default(); State::ALL.len()];
    let mut sums: Vec<(Key, SampleTotals)> = sums.sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, _)| *key);
    for ((thread, stack, state, lock, kind), totals) in sums {
        if threads.binary_search(&thread).is_err() {
            continue;
        }
        by_state[state as usize].add(&totals);
        if states.contains(state) {
            let SampleTotals { snapshots: count, wall_ns, cpu_ns } = totals;
            let (stack, lock) = (resolver.stack(stack), resolver.lock_of_sample(lock));
            let samples = &mut rows.entry(thread).or_default().samples;
            let thread = 0;
            samples.push(Sample { thread, stack, state, lock, kind, count, wall_ns, cpu_ns });
        }
    }
    // Ids of the log may be one and the same in the profile.
    rows.values_mut().for_each(|rows| merge(&mut rows.samples));
    by_state
}
