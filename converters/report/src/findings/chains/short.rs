//! Waits that are too many to be followed: charged to who had the lock, without a
//! look at what that one did, and added up at once.

use super::{
    super::axis::{Clock, Grid},
    charge::{Demand, FilteredWait},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
};
use tyrion_model::near::{Mix, Near};

/// Where waits are put: the groups of threads by number, and what their times are
/// on the axis.
#[derive(Clone, Copy)]
pub(super) struct GroupAxis<'p> {
    pub(super) groups: &'p [u32],
    pub(super) clock: Clock,
    pub(super) grid: Grid,
}

/// The group of those who waited, what for, and the group of who had it.
pub(super) type ShortKey = (u32, u32, u32);

/// Waits added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortSum {
    pub(super) waits: u64,
    pub(super) wait_ns: u64,
    pub(super) pending: u64,
    pub(super) pending_ns: u64,
}

/// The sums of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChargedSum {
    pub(super) sum: ShortSum,
    /// How long they were in phases, as far as they were in any.
    pub(super) phases: Vec<(usize, u64)>,
}

/// A key, and the phase of the axis, a number that is small.
type PhaseKey = (ShortKey, u32);

/// Waits that began in a phase, and how long waits were in it, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct PhaseSum {
    waits: ShortSum,
    inside_ns: u64,
}

/// The sums of short waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Shorts {
    near: Near<PhaseKey, PhaseSum>,
    sums: HashMap<PhaseKey, PhaseSum, BuildHasherDefault<Mix>>,
    /// The phase in which the wait before was, and from when to when it is, monotonic ns: most
    /// waits are in that phase, too.
    phase: (u32, u64, u64),
}

impl Shorts {
    /// Adds a wait.
    pub(super) fn put(&mut self, (wait, asked): FilteredWait, place: GroupAxis<'_>) {
        let group = |thread: u32| place.groups.get(thread as usize).copied();
        let (Some(waiting), Some(owner)) = (group(wait.thread), group(wait.owner)) else { return };
        if asked == Demand::Nothing {
            return;
        }
        let key = (waiting, wait.what, owner);
        let is_pending = asked == Demand::ChargePending;
        let length_ns = wait.length_ns();
        let waits = ShortSum {
            waits: 1,
            wait_ns: length_ns,
            pending: u64::from(is_pending),
            pending_ns: if is_pending { length_ns } else { 0 },
        };
        let (step, from_ns, to_ns) = self.phase;
        if from_ns <= wait.start_ns && wait.start_ns < to_ns && wait.end_ns <= to_ns {
            self.add_to((key, step), PhaseSum { waits, inside_ns: length_ns });
        } else {
            self.put_anywhere(key, (wait.start_ns, wait.end_ns), waits, place);
        }
    }

    /// A wait that may be in several phases, or not wholly on the axis.
    fn put_anywhere(
        &mut self,
        key: ShortKey,
        (start_ns, end_ns): (u64, u64),
        mut waits: ShortSum,
        GroupAxis { clock, grid, .. }: GroupAxis<'_>,
    ) {
        let (mut at_ns, end_ns) = (clock.at(start_ns), clock.at(end_ns));
        // What has no time within the phases counts all the same.
        loop {
            let step = grid.step(at_ns);
            let bounds = grid.bounds(step);
            let to_ns = bounds.1.clamp(at_ns, end_ns.max(at_ns));
            let inside_ns = to_ns - at_ns;
            let waits = std::mem::take(&mut waits);
            self.add_to((key, step as u32), PhaseSum { waits, inside_ns });
            if to_ns == at_ns || to_ns >= end_ns {
                self.phase = (step as u32, clock.mono(bounds.0), clock.mono(bounds.1));
                return;
            }
            at_ns = to_ns;
        }
    }

    #[inline]
    fn add_to(&mut self, key: PhaseKey, more: PhaseSum) {
        if let Some((key, sum)) = self.near.change(key, |sum| *sum += more) {
            *self.sums.entry(key).or_default() += sum;
        }
    }

    pub(super) fn add(&mut self, other: Shorts) {
        other.into_sums().for_each(|(key, sum)| self.add_to(key, sum));
    }

    /// The sums, some of them in two parts.
    fn into_sums(mut self) -> impl Iterator<Item = (PhaseKey, PhaseSum)> {
        self.near.drain().chain(self.sums)
    }

    /// By key, those with the most wait first.
    pub(super) fn finish(self) -> Vec<(ShortKey, ChargedSum)> {
        let mut all: BTreeMap<ShortKey, ChargedSum> = BTreeMap::new();
        for ((key, step), sum) in self.into_sums() {
            let charged = all.entry(key).or_default();
            charged.sum += sum.waits;
            charged.phases.push((step as usize, sum.inside_ns));
        }
        let mut all: Vec<(ShortKey, ChargedSum)> = all.into_iter().collect();
        all.sort_by_key(|(key, charged)| (Reverse(charged.sum.wait_ns), *key));
        all
    }
}

impl std::ops::AddAssign for PhaseSum {
    fn add_assign(&mut self, more: PhaseSum) {
        self.waits += more.waits;
        self.inside_ns = self.inside_ns.saturating_add(more.inside_ns);
    }
}

impl std::ops::AddAssign for ShortSum {
    fn add_assign(&mut self, more: ShortSum) {
        self.waits += more.waits;
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.pending += more.pending;
        self.pending_ns = self.pending_ns.saturating_add(more.pending_ns);
    }
}
