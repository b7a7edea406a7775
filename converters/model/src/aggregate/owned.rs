//! Waits told apart by who had the lock when they began.
//!
//! Few readers of a profile want to know, and it makes a row for each owner, so it is
//! done only where it is asked for.

use super::{
    ids::LogIds,
    known::{known_thread, thread_of},
    result::Aggregate,
    sums::{WaitSums, lock},
};
use crate::{
    filter::Filter,
    hash::Table,
    profile::{NO_OWNER, WaitRow},
};
use rayon::prelude::*;
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tyrion_formats::Recording;
use tyrion_wire::WaitKind;

/// What a thread waited for while another one had it, as the log numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OwnedSite {
    pub(super) thread: u32,
    pub(super) site: u32,
    pub(super) owner: u32,
}

/// The waits whose owner is known.
pub(super) type OwnedSums = Table<OwnedSite, WaitSums>;

/// What tells such waits apart in the profile, in the order of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OwnedWaitKey {
    thread: u32,
    stack: u32,
    lock: u32,
    kind: WaitKind,
    /// By its id in the log first, then by that in the profile.
    owner: u32,
}

/// The filter may leave out most of what a pass has added up, but memory is bounded.
const MOST_BEFORE_FILTER: usize = 2;
/// A power of two. All together take half a megabyte: a part of the cache of a core.
const SLOTS: usize = 1 << 14;

/// What the workers of a pass have added up by owner.
pub(super) struct SumsByOwner {
    most: usize,
    /// The threads that the filter asks for, by id.
    wanted: Vec<bool>,
    is_given_up: AtomicBool,
    sums: Mutex<OwnedSums>,
}

impl SumsByOwner {
    /// For at most so many sums after the filter; none are asked for if it is 0.
    pub(super) fn new(log: &Recording, filter: &Filter, most: usize) -> SumsByOwner {
        let threads = log.definitions().threads();
        let mut wanted = vec![false; if most == 0 { 0 } else { threads.len() }];
        for (id, wanted) in (0..).zip(&mut wanted) {
            let takes = |name: &regex::Regex| name.is_match(&thread_of(log, 0, id).label());
            *wanted = filter.thread.as_ref().is_none_or(takes);
        }
        SumsByOwner {
            most: most.saturating_mul(MOST_BEFORE_FILTER),
            wanted,
            is_given_up: AtomicBool::new(most == 0),
            sums: Mutex::default(),
        }
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }

    /// Gives up what are too many. Whether they are depends on nothing but the log: no
    /// worker has more than all have together.
    fn check(&self, sums: &mut OwnedSums) {
        if sums.len() > self.most {
            self.is_given_up.store(true, Relaxed);
        }
        if self.is_given_up() {
            *sums = OwnedSums::default();
        }
    }

    /// The sums of all workers; `None` if they are too many.
    pub(super) fn into_sums(self) -> Option<OwnedSums> {
        let is_given_up = self.is_given_up();
        let sums = self.sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!is_given_up).then_some(sums)
    }
}

/// The waits of a thread at a site for an owner.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The owner is 0 if the slot is free.
    of: OwnedSite,
    count: u32,
    wait_ns: u64,
    max_ns: u64,
}

impl Slot {
    fn sums(&self) -> WaitSums {
        WaitSums { count: self.count.into(), wait_ns: self.wait_ns, max_ns: self.max_ns }
    }
}

/// What one worker adds up. A program waits for few owners at a time, so a small table
/// whose slots anyone may take over does most of it.
pub(super) struct OwnerTable<'a> {
    log: &'a Recording,
    shared: &'a SumsByOwner,
    /// Whether it is still asked for.
    pub(super) is_on: bool,
    slots: Vec<Slot>,
    used: Vec<u32>,
    sums: OwnedSums,
}

impl<'a> OwnerTable<'a> {
    pub(super) fn new(log: &'a Recording, shared: &'a SumsByOwner) -> OwnerTable<'a> {
        let is_on = !shared.is_given_up();
        let slots = vec![Slot::default(); if is_on { SLOTS } else { 0 }];
        OwnerTable { log, shared, is_on, slots, used: Vec::new(), sums: OwnedSums::default() }
    }

    /// Adds a wait. What had to make room for it comes back, with thread and site: it is to
    /// be added to the sums that know no owners.
    #[inline]
    pub(super) fn add_wait(&mut self, of: OwnedSite, wait_ns: u64) -> Option<(u32, u32, WaitSums)> {
        let OwnedSite { thread, site, owner } = of;
        let hash = u64::from(site ^ owner.rotate_left(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (hash >> 32) as usize % SLOTS;
        let Some(slot) = self.slots.get_mut(at) else {
            return Some((thread, site, WaitSums::of(wait_ns)));
        };
        if slot.of == of && slot.count < u32::MAX {
            slot.count += 1;
            slot.wait_ns = slot.wait_ns.saturating_add(wait_ns);
            slot.max_ns = slot.max_ns.max(wait_ns);
            return None;
        }
        let fresh = Slot { of, count: 1, wait_ns, max_ns: wait_ns };
        let old = std::mem::replace(slot, fresh);
        if old.of.owner == 0 {
            self.used.push(at as u32);
            return None;
        }
        Some(self.keep(&old))
    }

    /// Adds folded waits, which the sums that know no owners have already.
    pub(super) fn add_folded(&mut self, of: OwnedSite, sums: &WaitSums) {
        self.keep_sums(of, sums);
    }

    /// Ends a piece: hands out the rest of what is to be added elsewhere, too.
    pub(super) fn finish(&mut self, mut add: impl FnMut(u32, u32, &WaitSums)) {
        while let Some(at) = self.used.pop() {
            let slot = self.slots.get_mut(at as usize).map(std::mem::take).unwrap_or_default();
            let (thread, site, sums) = self.keep(&slot);
            add(thread, site, &sums);
        }
    }

    /// Hands all sums to those of all workers.
    pub(super) fn hand_over(&mut self) {
        let mut all = lock(&self.shared.sums);
        for (key, sums) in self.sums.drain() {
            all.entry(key).or_default().add(&sums);
        }
        self.shared.check(&mut all);
    }

    #[inline(never)]
    fn keep(&mut self, slot: &Slot) -> (u32, u32, WaitSums) {
        let sums = slot.sums();
        self.keep_sums(slot.of, &sums);
        (slot.of.thread, slot.of.site, sums)
    }

    fn keep_sums(&mut self, of: OwnedSite, sums: &WaitSums) {
        let thread = known_thread(self.log, of.thread);
        let is_known = self.log.definitions().threads().get(of.owner).is_some();
        // The unknown thread has no place in the list; its name passes or not later.
        let is_wanted = self.shared.wanted.get(thread as usize).is_none_or(|wanted| *wanted);
        if is_known && is_wanted && !self.shared.is_given_up() {
            self.sums.entry(OwnedSite { thread, ..of }).or_default().add(sums);
            self.shared.check(&mut self.sums);
        }
        // The slots keep what they have until the piece ends.
        self.is_on = !self.shared.is_given_up();
    }
}

/// Makes of each row of waits one for each owner and one for the rest. Returns false, and
/// changes nothing, if a log has more than `most` sums by owner.
pub(super) fn split(
    logs: &[Recording],
    owned: Vec<OwnedSums>,
    most: usize,
    aggregate: &mut Aggregate,
) -> bool {
    let mut owners = Vec::new();
    let mut parts: Vec<(OwnedWaitKey, WaitSums)> = Vec::new();
    for (((run, log), ids), owned) in (0..).zip(logs).zip(&aggregate.ids).zip(owned) {
        let owned = of_profile(owned, ids);
        if owned.len() > most {
            return false;
        }
        let of_log: BTreeSet<u32> = owned.iter().map(|(key, _)| key.owner).collect();
        let of_log: Vec<u32> = of_log.into_iter().collect();
        let first = owners.len() as u32;
        owners.extend(of_log.iter().map(|&owner| thread_of(log, run, owner)));
        parts.extend(owned.into_iter().map(|(key, sums)| {
            let at = of_log.binary_search(&key.owner).unwrap_or_else(|at| at);
            (OwnedWaitKey { owner: first + at as u32, ..key }, sums)
        }));
    }
    parts.par_sort_unstable_by_key(|(key, _)| *key);
    let profile = &mut aggregate.profile;
    profile.waits = split_rows(&profile.waits, &parts);
    profile.owners = owners;
    true
}

/// The sums that the profile has, with its ids but for the owner, in their order.
fn of_profile(owned: OwnedSums, ids: &LogIds) -> Vec<(OwnedWaitKey, WaitSums)> {
    let known = |(of, sums): (OwnedSite, WaitSums)| {
        let (thread, (stack, lock, kind)) = ids.thread(of.thread).zip(ids.site(of.site))?;
        Some((OwnedWaitKey { thread, stack, lock, kind, owner: of.owner }, sums))
    };
    let mut parts: Vec<(OwnedWaitKey, WaitSums)> = owned.into_iter().filter_map(known).collect();
    parts.par_sort_unstable_by_key(|(key, _)| *key);
    // Several sites may have the same stack, lock and kind.
    parts.dedup_by(|(next, sums), (kept, into)| {
        let is_same = next == kept;
        if is_same {
            into.add(sums);
        }
        is_same
    });
    parts
}

/// The rows, each cut into those of its parts and the rest; both in order.
fn split_rows(rows: &[WaitRow], parts: &[(OwnedWaitKey, WaitSums)]) -> Vec<WaitRow> {
    let mut split = Vec::with_capacity(rows.len() + parts.len());
    let mut parts = parts.iter().peekable();
    for row in rows {
        let mut rest = *row;
        let key = (row.thread, row.stack, row.lock, row.kind);
        let is_of_row = |part: &&(OwnedWaitKey, WaitSums)| {
            let OwnedWaitKey { thread, stack, lock, kind, .. } = part.0;
            (thread, stack, lock, kind) == key
        };
        while let Some((OwnedWaitKey { owner, .. }, sums)) = parts.next_if(is_of_row) {
            let WaitSums { count, wait_ns, max_ns } = *sums;
            split.push(WaitRow { owner: *owner, count, wait_ns, max_ns, ..*row });
            rest.count = rest.count.saturating_sub(count);
            rest.wait_ns = rest.wait_ns.saturating_sub(wait_ns);
        }
        if rest.count != 0 || rest.wait_ns != 0 {
            split.push(WaitRow { owner: NO_OWNER, ..rest });
        }
    }
    split
}
