//! Who had the lock when a wait began.

use super::{
    delay::Delay,
    groups::{LockGroups, ThreadGroups},
};
use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasherDefault, Hasher},
};
use tyrion_model::aggregate::LogIds;
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
type Key = (u32, u32, u32);

/// The number of sums at hand without a table lookup.
const NEAR: usize = 4096;

/// Waits whose lock's owner is known, by the groups of waiter and owner, and
/// the site: within one log.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// Those that were added to last: none, or [`NEAR`].
    near: Vec<(Key, Delay)>,
    sums: HashMap<Key, Delay, BuildHasherDefault<Mix>>,
}

impl Owners {
    /// Adds a wait. This is done for each one, so the sum is looked for where
    /// the last one of a similar key was.
    #[inline]
    pub(super) fn add_wait(&mut self, key: Key, wait_ns: u64) {
        let (waiters, owners, site) = key;
        let at = (site ^ waiters.wrapping_mul(0x9e5) ^ owners.wrapping_mul(0x1f35)) as usize % NEAR;
        match self.near.get_mut(at) {
            Some((known, sum)) if *known == key => *sum += Delay { count: 1, wait_ns },
            _ => self.replace(at, key, Delay { count: 1, wait_ns }),
        }
    }

    /// Adds folded waits.
    pub(super) fn add_folded(&mut self, key: Key, waits: Delay) {
        *self.sums.entry(key).or_default() += waits;
    }

    #[cold]
    fn replace(&mut self, at: usize, key: Key, delay: Delay) {
        self.near.resize(NEAR, Default::default());
        if let Some(near) = self.near.get_mut(at) {
            let (key, delay) = std::mem::replace(near, (key, delay));
            if delay.count != 0 {
                *self.sums.entry(key).or_default() += delay;
            }
        }
    }

    pub(super) fn add(&mut self, other: &Owners) {
        let near = other.near.iter().filter(|(_, delay)| delay.count != 0);
        for (key, more) in other.sums.iter().chain(near.map(|(key, delay)| (key, delay))) {
            *self.sums.entry(*key).or_default() += *more;
        }
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

/// Mixes a few small numbers, as fast as can be: this is done for each wait.
/// They are the reader's own numbers, and sites are limited by their
/// definitions, so nobody can choose them to collide.
#[derive(Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(23) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
