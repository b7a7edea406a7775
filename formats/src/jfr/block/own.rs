//! What `tyrion convert --to jfr` adds to the JDK's events: the kind of each wait, samples with the
//! time that they stand for, and waits of which only sums are known. So a recording that was
//! converted says the same as its log.

use super::{
    super::{
        layout::{Tells, slot},
        metadata::SLOTS,
    },
    SiteKey,
};
use tyrion_wire::{
    Outcome,
    cell::{BUCKETS, Cell, bucket},
    sample::{Sample, ThreadState},
};

/// An event of these, by the chunk's keys.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct OwnEvent {
    pub(in super::super) thread: u64,
    pub(in super::super) site: SiteKey,
    /// The class of the lock that a sampled thread waits for.
    pub(in super::super) lock_class: u64,
    pub(in super::super) start_ns: u64,
    pub(in super::super) end_ns: u64,
    /// How many waits, or how often the thread was seen.
    count: u64,
    /// How long the waits took, and the longest of them; how much time the samples stand for, and
    /// how much of a processor.
    sums: [u64; 2],
}

impl OwnEvent {
    /// From the fields of an event from one time to another.
    pub(in super::super) fn new(
        tells: Tells,
        numbers: &[u64; SLOTS],
        (start_ns, end_ns): (u64, u64),
    ) -> OwnEvent {
        let site = SiteKey {
            tells,
            stack: numbers[slot::STACK],
            class: numbers[slot::CLASS],
            address: numbers[slot::ADDRESS],
            kind: numbers[slot::KIND],
        };
        OwnEvent {
            thread: numbers[slot::THREAD],
            site,
            lock_class: numbers[slot::LOCK_CLASS],
            start_ns,
            end_ns,
            count: numbers[slot::EXTRA],
            sums: [numbers[slot::SUM], numbers[slot::OTHER_SUM]],
        }
    }

    /// Waits of a thread at a site. How long each one was is not known: they count as long as
    /// their average.
    pub(in super::super) fn cell(&self, thread: u32, site: u32) -> Cell {
        let [sum_ns, max_ns] = self.sums;
        let mut histogram = [0; BUCKETS];
        if let Some(waits) = histogram.get_mut(bucket(sum_ns / self.count.max(1))) {
            *waits = u32::try_from(self.count).unwrap_or(u32::MAX);
        }
        let (first_ns, last_ns) = (self.start_ns, self.end_ns);
        let count = self.count;
        Cell {
            thread,
            site,
            owner: 0,
            group: 0,
            first_ns,
            last_ns,
            count,
            sum_ns,
            max_ns,
            histogram,
        }
    }

    /// What a thread was seen doing, with a stack and perhaps a lock that it waits for.
    pub(in super::super) fn sample(
        &self,
        state: ThreadState,
        (stack, lock): (u32, u32),
        kind: u32,
    ) -> Sample {
        let [wall_ns, cpu_ns] = self.sums;
        let (count, state) = (self.count, state.code());
        Sample { wall_ns, cpu_ns, count, state, stack, kind, lock, ..Sample::default() }
    }
}

/// The state of a thread by what the event tells and its name there.
pub(in super::super) fn state(tells: Tells, name: &str) -> ThreadState {
    match (tells, name) {
        (Tells::NativeSample, _) => ThreadState::Native,
        (_, "STATE_RUNNABLE") => ThreadState::Running,
        (_, "STATE_BLOCKED_ON_MONITOR_ENTER") => ThreadState::Blocked,
        (_, "STATE_IN_OBJECT_WAIT") => ThreadState::Waiting,
        (_, "STATE_PARKED") => ThreadState::Parked,
        (_, "STATE_SLEEPING") => ThreadState::Sleeping,
        _ => ThreadState::Other,
    }
}

/// How a wait ended, which there is a field for each of.
pub(in super::super) fn outcome(numbers: &[u64; SLOTS]) -> Outcome {
    let is = |slot: usize| numbers[slot] != 0;
    match (is(slot::EXTRA), is(slot::SUM), is(slot::OTHER_SUM)) {
        (true, ..) => Outcome::TimedOut,
        (_, true, _) => Outcome::Interrupted,
        (.., true) => Outcome::Failed,
        _ => Outcome::Granted,
    }
}
