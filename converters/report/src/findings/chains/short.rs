//! Waits that are too many to be followed: charged to who had the lock, without a
//! look at what that one did, and added up at once.

use super::{
    super::{
        axis::{Clock, Grid},
        owners::Mix,
    },
    charge::{Asked, AskedWait},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
};

/// Where waits are put: the groups of threads by number, and what their times are
/// on the axis.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
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
pub(super) struct Charged {
    pub(super) sum: ShortSum,
    /// How long they were in phases, as far as they were in any.
    pub(super) phases: Vec<(usize, u64)>,
}

/// The sums of short waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Shorts {
    /// By key and the phase of the axis, a number that is small, in which the wait
    /// began; with how long they were in this phase, in ns.
    sums: HashMap<(ShortKey, u32), (ShortSum, u64), BuildHasherDefault<Mix>>,
}

impl Shorts {
    /// Adds a wait.
    pub(super) fn put(&mut self, (wait, asked): AskedWait, place: Place<'_>) {
        let group = |thread: u32| place.groups.get(thread as usize).copied();
        let (Some(waiting), Some(owner)) = (group(wait.thread), group(wait.owner)) else { return };
        if asked == Asked::Nothing {
            return;
        }
        let Place { clock, grid, .. } = place;
        let key = (waiting, wait.what, owner);
        let (mut at_ns, end_ns) = (clock.at(wait.start_ns), clock.at(wait.end_ns));
        let is_pending = asked == Asked::ChargePending;
        let length_ns = wait.length_ns();
        let mut sum = ShortSum {
            waits: 1,
            wait_ns: length_ns,
            pending: u64::from(is_pending),
            pending_ns: if is_pending { length_ns } else { 0 },
        };
        // What has no time within the phases counts all the same.
        loop {
            let step = grid.step(at_ns);
            let to_ns = grid.bounds(step).1.clamp(at_ns, end_ns.max(at_ns));
            let known = self.sums.entry((key, step as u32)).or_default();
            known.0 += std::mem::take(&mut sum);
            known.1 = known.1.saturating_add(to_ns - at_ns);
            if to_ns == at_ns || to_ns >= end_ns {
                return;
            }
            at_ns = to_ns;
        }
    }

    pub(super) fn add(&mut self, other: Shorts) {
        for (key, (sum, ns)) in other.sums {
            let known = self.sums.entry(key).or_default();
            known.0 += sum;
            known.1 = known.1.saturating_add(ns);
        }
    }

    /// By key, those with the most wait first.
    pub(super) fn finish(self) -> Vec<(ShortKey, Charged)> {
        let mut all: BTreeMap<ShortKey, Charged> = BTreeMap::new();
        for ((key, step), (sum, ns)) in self.sums {
            let charged = all.entry(key).or_default();
            charged.sum += sum;
            charged.phases.push((step as usize, ns));
        }
        let mut all: Vec<(ShortKey, Charged)> = all.into_iter().collect();
        all.sort_by_key(|(key, charged)| (Reverse(charged.sum.wait_ns), *key));
        all
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
