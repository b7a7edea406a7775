//! Who had the lock when a wait began.

use super::{
    delay::Delay,
    groups::{LockGroups, ThreadGroups},
};
use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
};
use tyrion_model::{
    aggregate::LogIds,
    near::{Mix, Near},
};
use tyrion_wire::WaitKind;

/// Waits of the threads of a group, of which one of another group had the lock
/// when they began.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedWait {
    /// The group of those who had the lock.
    pub owners: String,
    /// The group of those who waited.
    pub waiters: String,
    /// Where they waited, a stack of the profile.
    pub stack: u32,
    /// The lock group.
    pub group: u32,
    /// What kind of wait, by its code.
    pub kind: u8,
    /// How many waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
}

/// Waiters' group, owners' group, and site.
type OwnerKey = (u32, u32, u32);

/// Waits whose lock's owner is known, by the groups of waiter and owner, and
/// the site: within one log.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    near: Near<OwnerKey, Delay>,
    sums: HashMap<OwnerKey, Delay, BuildHasherDefault<Mix>>,
}

impl Owners {
    /// Adds a wait.
    #[inline]
    pub(super) fn add_wait(&mut self, key: OwnerKey, wait_ns: u64) {
        if let Some((key, waits)) = self.near.change(key, |sum| *sum += Delay { count: 1, wait_ns })
        {
            self.add_waits(key, waits);
        }
    }

    /// Adds waits, such as folded ones.
    #[inline(never)]
    pub(super) fn add_waits(&mut self, key: OwnerKey, waits: Delay) {
        *self.sums.entry(key).or_default() += waits;
    }

    pub(super) fn add(&mut self, mut other: Owners) {
        other.sums.into_iter().for_each(|(key, waits)| self.add_waits(key, waits));
        other.near.drain().for_each(|(key, waits)| self.add_waits(key, waits));
    }
}

/// The same of all logs: by waiters, owners, stack, lock group and kind.
#[derive(Debug, Default)]
pub(super) struct AllOwners {
    sums: BTreeMap<(u32, u32, u32, u32, WaitKind), Delay>,
}

impl AllOwners {
    /// Adds those of a log.
    pub(super) fn add(&mut self, ids: &LogIds, groups: &LockGroups, owners: &Owners) {
        for (&(waiters, owners, site), more) in &owners.sums {
            if let Some((stack, lock, kind)) = ids.site(site) {
                let key = (waiters, owners, stack, groups.of(lock), kind);
                *self.sums.entry(key).or_default() += *more;
            }
        }
    }

    /// In ascending order of owners, waiters, stack, lock group and kind.
    pub(super) fn finish(self, names: &ThreadGroups) -> Vec<OwnedWait> {
        let row = |((waiters, owners, stack, group, kind), delay): (_, Delay)| OwnedWait {
            owners: names.name(owners),
            waiters: names.name(waiters),
            stack,
            group,
            kind: WaitKind::code(kind),
            count: delay.count,
            wait_ns: delay.wait_ns,
        };
        let mut rows: Vec<OwnedWait> = self.sums.into_iter().map(row).collect();
        rows.sort_unstable();
        rows
    }
}
