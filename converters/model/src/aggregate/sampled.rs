//! The pass over samples, and their rows in the profile.

use super::{acquired::ThreadRows, resolve::Resolver};
use crate::hash::Table;
use crate::{
    filter::{Filter, Kinds, Window},
    merge::merge,
    profile::SampleRow,
    state::State,
    states::StateReader,
    totals::SampleTotals,
};
use std::collections::BTreeMap;
use tyrion_formats::{Noted, Recording};
use tyrion_wire::{WaitKind, sample::Sample};

/// Stands for stacks whose definition is lost.
const LOST_STACK: u32 = u32::MAX;

/// What tells samples apart, by the ids of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct StateKey {
    thread: u32,
    stack: u32,
    state: State,
    lock: u32,
    kind: Option<WaitKind>,
}

/// What the pass over a log finds of samples. Sums in no order.
#[derive(Default)]
pub(super) struct SampleSums {
    sums: Table<StateKey, SampleTotals>,
    /// Records that were decoded, whatever the filter.
    pub(super) records: u64,
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
    }

    /// The threads that were sampled, some of them more than once.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.sums.keys().map(|key| key.thread)
    }
}

/// Which samples are asked for, and how they are read.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) reader: &'a StateReader<'a>,
    /// Only of threads that waited so.
    pub(super) kinds: Option<Kinds>,
    /// Whether a wait of a kind with a stack of the log withholds work.
    pub(super) is_withheld: &'a (dyn Fn(WaitKind, u32) -> bool + Sync),
}

/// Sums samples.
pub(super) struct Sampler<'a> {
    log: &'a Recording,
    window: &'a Window,
    samples: Samples<'a>,
    pub(super) sums: SampleSums,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(log: &'a Recording, window: &'a Window, samples: Samples<'a>) -> Self {
        Sampler { log, window, samples, sums: SampleSums::default() }
    }

    /// Adds a sample. There are few beside waits: their code shall not take
    /// the place of that of waits.
    #[inline(never)]
    pub(super) fn record(&mut self, sampled: &Noted<Sample>) {
        self.sums.records += 1;
        let Samples { reader, kinds, is_withheld } = self.samples;
        let Some(part) = self.window.part(sampled) else { return };
        if reader.is_of(sampled, kinds, is_withheld) {
            let key = self.key(sampled, reader);
            self.sums.sums.entry(key).or_default().add(&part);
        }
    }

    /// Made-up ids shall not take memory.
    fn key(&self, sampled: &Noted<Sample>, reader: &StateReader<'_>) -> StateKey {
        let definitions = self.log.definitions();
        let (stack, (thread, lock)) = (reader.stack(sampled), reader.thread_and_lock(sampled));
        let is_known = (stack as usize) < definitions.stacks().len();
        let stack = if is_known { stack } else { LOST_STACK };
        StateKey { thread, stack, state: reader.state(sampled), lock, kind: sampled.kind() }
    }
}

/// Adds the samples of these threads, ascending, that the filter asks for to
/// their rows. Returns what all states have.
pub(super) fn add_rows(
    sums: SampleSums,
    threads: &[u32],
    filter: &Filter,
    resolver: &mut Resolver<'_>,
    rows: &mut BTreeMap<u32, ThreadRows>,
) -> [SampleTotals; State::ALL.len()] {
    let mut by_state = [SampleTotals::default(); State::ALL.len()];
    let mut sums: Vec<(StateKey, SampleTotals)> = sums.sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, _)| *key);
    for (StateKey { thread, stack, state, lock, kind }, totals) in sums {
        if threads.binary_search(&thread).is_err() {
            continue;
        }
        let Some(lock) = resolver.lock_of_sample(lock, filter.lock.as_ref()) else { continue };
        by_state[state as usize].add(&totals);
        if filter.states.contains(state) {
            let SampleTotals { snapshots: count, wall_ns, cpu_ns } = totals;
            let stack = resolver.stack(stack);
            let samples = &mut rows.entry(thread).or_default().samples;
            let thread = 0;
            samples.push(SampleRow { thread, stack, state, lock, kind, count, wall_ns, cpu_ns });
        }
    }
    // Ids of the log may be one and the same in the profile.
    rows.values_mut().for_each(|rows| merge(&mut rows.samples));
    by_state
}
