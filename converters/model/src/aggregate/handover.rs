//! Waits during which nobody had the lock: it had been released, and whoever was next did not
//! run yet.
//!
//! Trace mode charges such a time to the thread that has released the lock. Looks at random
//! moments do not tell who that was, so each of those that were seen to have the lock, or else
//! one of its class and name, gets as much of it as of the time in which somebody had it.

use super::spread::shares;
use crate::{
    merge::merge,
    profile::{BlameRow, Profile},
};
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_wire::WaitKind;

/// No more holders of a lock get their part: those that were seen longest.
const MOST_HOLDERS: usize = 32;

/// Who had a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LockHolder {
    thread: u32,
    stack: u32,
    /// How many frames are above the one that has it.
    above: u32,
}

/// A lock that has a name, and how it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NamedLock<'p> {
    class: &'p str,
    name: &'p str,
    kind: WaitKind,
}

/// A holder, and for how much of the wait, in ns, it was seen.
type Share = (LockHolder, u64);

/// Charges such waits to the holders of their locks. What nobody was seen to have stays as it
/// is, charged to nobody.
pub(super) fn charge(profile: &mut Profile) {
    if profile.blames.iter().all(|row| row.free_ns == 0) {
        return;
    }
    let rows = std::mem::take(&mut profile.blames);
    let (free, mut blames): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.free_ns != 0);
    let holders = Holders::of(profile, &blames);
    for row in free {
        match holders.of_lock(profile, &row) {
            Some(holders) => blames.extend(parts(&row, holders)),
            None => blames.push(row),
        }
    }
    merge(&mut blames);
    profile.blames = blames;
}

/// The holders of locks, and for how much of the wait each was seen, longest first.
struct Holders<'p> {
    by_lock: BTreeMap<(u32, WaitKind), Vec<Share>>,
    by_name: BTreeMap<NamedLock<'p>, Vec<Share>>,
}

impl<'p> Holders<'p> {
    fn of(profile: &'p Profile, blames: &[BlameRow]) -> Holders<'p> {
        let (mut by_lock, mut by_name) = (BTreeMap::new(), BTreeMap::new());
        let is_known = |row: &&BlameRow| {
            let thread = profile.threads.get(row.thread as usize);
            row.blamed_ns != 0 && thread.is_some_and(|it| it.java_id != 0 || it.is_virtual)
        };
        for row in blames.iter().filter(is_known) {
            add(by_lock.entry((row.lock, row.kind)).or_default(), row);
            if let Some(lock) = named_lock(profile, row) {
                add(by_name.entry(lock).or_default(), row);
            }
        }
        Holders { by_lock: sorted(by_lock), by_name: sorted(by_name) }
    }

    /// Those of the same lock, or else of one with the same class and name.
    fn of_lock(&self, profile: &'p Profile, row: &BlameRow) -> Option<&[Share]> {
        let by_name = || self.by_name.get(&named_lock(profile, row)?);
        self.by_lock.get(&(row.lock, row.kind)).or_else(by_name).map(Vec::as_slice)
    }
}

/// `None` for locks that have no name: they need not have anything in common.
fn named_lock<'p>(profile: &'p Profile, row: &BlameRow) -> Option<NamedLock<'p>> {
    let lock = profile.locks.get(row.lock as usize).filter(|lock| !lock.name.is_empty())?;
    Some(NamedLock { class: &lock.class, name: &lock.name, kind: row.kind })
}

fn add(of_lock: &mut BTreeMap<LockHolder, u64>, row: &BlameRow) {
    let holder = LockHolder { thread: row.thread, stack: row.stack, above: row.above };
    let sum = of_lock.entry(holder).or_default();
    *sum = sum.saturating_add(row.blamed_ns);
}

fn sorted<K: Ord>(sums: BTreeMap<K, BTreeMap<LockHolder, u64>>) -> BTreeMap<K, Vec<Share>> {
    let longest_first = |of_lock: BTreeMap<LockHolder, u64>| {
        let mut holders: Vec<Share> = of_lock.into_iter().collect();
        holders.sort_by_key(|(_, ns)| Reverse(*ns));
        holders.truncate(MOST_HOLDERS);
        holders
    };
    sums.into_iter().map(|(key, of_lock)| (key, longest_first(of_lock))).collect()
}

/// The parts of such waits.
fn parts<'h>(row: &'h BlameRow, holders: &'h [Share]) -> impl Iterator<Item = BlameRow> + 'h {
    let weights: Vec<u64> = holders.iter().map(|(_, ns)| *ns).collect();
    let of = |total: u64| shares(total, &weights);
    let numbers = of(row.blamed_ns).into_iter().zip(of(row.count)).zip(of(row.answers));
    let part =
        |(&(LockHolder { thread, stack, above }, _), ((blamed_ns, count), answers))| BlameRow {
            thread,
            stack,
            above,
            count,
            blamed_ns,
            free_ns: blamed_ns,
            answers,
            error_ns: 0,
            ..*row
        };
    holders.iter().zip(numbers).map(part).filter(|part| part.blamed_ns != 0 || part.count != 0)
}
