//! Writes what was found into a log, thread by thread in the order of time.

use super::{
    SOMEWHERE,
    pair::{NEVER, Pairs},
    waits::{self, OriginalRecords},
};
use crate::{
    event_log::write::{LaneId, Wait},
    import::Importer,
    limits::MAX_LANES,
};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, HashMap},
    io,
};
use tyrion_wire::{
    WaitKind,
    cell::bucket,
    def::id,
    slot::Pending,
    trace::{AcquisitionCell, Blame, Held, Hold, Instance, Nest},
};

/// A thread with so many records gets a lane of its own; the others share one.
const OWN_LANE: usize = 32;
/// The log was written once a second: who asks for a lock when it ends may have got it.
const WRITTEN_EVERY_NS: u64 = 1_000_000_000;

/// A record to be written: whose it is, when, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OriginalEntry {
    thread: u32,
    at_ns: u64,
    what: EntryIndex,
}

/// What, by its number in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EntryIndex {
    Taking(u32),
    Wait(u32),
    Nest(u32),
    Hold(u32),
    Charge(u32),
}

/// What is written, and by which ids.
struct OriginalWriter<'w> {
    importer: &'w mut Importer,
    pairs: &'w Pairs,
    found: &'w OriginalRecords,
    threads: Vec<u32>,
    /// Classes, by lock.
    classes: Vec<u32>,
    place: u32,
    /// Lock and site, by lock; only of those that were waited for.
    sites: HashMap<u32, (u32, u32)>,
}

/// Writes all that pairs have told, but no more than so many parts of waits: how many are
/// left out.
pub(super) fn write(importer: &mut Importer, mut pairs: Pairs, most: usize) -> io::Result<u64> {
    let found = waits::find(&mut pairs.acquisitions, most);
    let (pairs, found) = (&pairs, &found);
    let mut writer = OriginalWriter::new(importer, pairs, found)?;
    writer.write_entries(entries(pairs, found))?;
    writer.write_pending()?;
    Ok(found.left_out)
}

/// All records, thread by thread in the order of time.
fn entries(pairs: &Pairs, found: &OriginalRecords) -> Vec<OriginalEntry> {
    let entry = |thread, at_ns, what| OriginalEntry { thread, at_ns, what };
    let holds = (0..).zip(&pairs.acquisitions).filter(|(_, it)| it.exit_ns != NEVER);
    let holds = holds.map(|(at, it)| entry(it.thread, it.exit_ns, EntryIndex::Hold(at)));
    let waits = (0..).zip(&found.waits);
    let waits = waits.map(|(at, it)| entry(it.thread, it.end_ns, EntryIndex::Wait(at)));
    let charges = (0..).zip(&found.charges);
    let charges = charges.map(|(at, it)| entry(it.holder, it.at_ns, EntryIndex::Charge(at)));
    let takings = (0..).zip(&found.takings);
    let takings = takings.map(|(at, it)| entry(it.thread, it.at_ns, EntryIndex::Taking(at)));
    let nests = (0..).zip(&pairs.nestings);
    let nests = nests.map(|(at, it)| entry(it.thread, it.at_ns, EntryIndex::Nest(at)));
    let mut entries: Vec<OriginalEntry> =
        holds.chain(waits).chain(charges).chain(takings).chain(nests).collect();
    entries.par_sort_unstable();
    entries
}

impl<'w> OriginalWriter<'w> {
    fn new(
        importer: &'w mut Importer,
        pairs: &'w Pairs,
        found: &'w OriginalRecords,
    ) -> io::Result<Self> {
        let log = &mut importer.log;
        let mut threads = Vec::with_capacity(pairs.threads.len());
        for thread in &pairs.threads {
            let number = log.thread(thread.java_id, &thread.name, "", 0)?;
            for (at_ns, name) in &thread.renamed {
                log.rename(number, name, *at_ns)?;
            }
            threads.push(number);
        }
        let mut classes = Vec::with_capacity(pairs.locks.len());
        for lock in &pairs.locks {
            classes.push(log.class(&lock.class.replace('.', "/"), "")?);
        }
        let nowhere = log.class("", "")?;
        let method = log.method(nowhere, SOMEWHERE, "", 0)?;
        let place = log.place(method, 0, WaitKind::Monitor, 0, "")?;
        let sites = HashMap::new();
        Ok(OriginalWriter { importer, pairs, found, threads, classes, place, sites })
    }

    fn write_entries(&mut self, entries: Vec<OriginalEntry>) -> io::Result<()> {
        let (mut lanes, mut few) = (0, Vec::new());
        for own in entries.chunk_by(|one, other| one.thread == other.thread) {
            if own.len() < OWN_LANE || lanes == MAX_LANES {
                few.extend_from_slice(own);
                continue;
            }
            lanes += 1;
            let thread = own.first().map_or(id::UNKNOWN, |first| self.thread(first.thread));
            let lane = self.importer.log.lane(thread);
            own.iter().try_for_each(|entry| self.entry(lane, entry))?;
        }
        few.sort_unstable_by_key(|entry| (entry.at_ns, entry.thread, entry.what));
        let shared = self.importer.log.lane(id::UNKNOWN);
        for entry in &few {
            let thread = self.thread(entry.thread);
            self.importer.log.resume(shared, thread, entry.at_ns)?;
            self.entry(shared, entry)?;
        }
        self.write_sums(shared)
    }

    fn thread(&self, number: u32) -> u32 {
        self.threads.get(number as usize).copied().unwrap_or(id::UNKNOWN)
    }

    fn held(&self, lock: u32) -> Held {
        let class = self.classes.get(lock as usize).copied().unwrap_or(id::UNKNOWN);
        let hash = self.pairs.locks.get(lock as usize).map_or(0, |lock| lock.hash);
        Held { place: self.place, class, hash }
    }

    /// The ids of a lock that was waited for, and of its site.
    fn site(&mut self, lock: u32) -> io::Result<(u32, u32)> {
        if let Some(&known) = self.sites.get(&lock) {
            return Ok(known);
        }
        let Held { class, hash, .. } = self.held(lock);
        let log = &mut self.importer.log;
        let number = log.lock(class)?;
        if hash != 0 {
            log.lock_instance(number, hash)?;
        }
        let site = log.site(WaitKind::Monitor, id::EMPTY_STACK, number)?;
        self.sites.insert(lock, (number, site));
        Ok((number, site))
    }

    fn entry(&mut self, lane: LaneId, entry: &OriginalEntry) -> io::Result<()> {
        let at_ns = entry.at_ns;
        let (pairs, found) = (self.pairs, self.found);
        match entry.what {
            EntryIndex::Hold(at) => {
                let Some(it) = pairs.acquisitions.get(at as usize) else { return Ok(()) };
                let Held { place, class, hash } = self.held(it.lock);
                let hold_ns = it.exit_ns - it.enter_ns;
                let hold = Hold { hold_ns, place, class, hash, ..Hold::default() };
                self.importer.log.note(lane, at_ns, hold)
            }
            EntryIndex::Wait(at) => {
                let Some(it) = found.waits.get(at as usize) else { return Ok(()) };
                let (_, site) = self.site(it.lock)?;
                let owner = it.owner.map_or(id::UNKNOWN, |owner| self.thread(owner));
                let wait_ns = it.end_ns - it.start_ns;
                let wait = Wait { end_ns: at_ns, wait_ns, site, owner, ..Wait::default() };
                self.importer.log.wait(lane, wait)
            }
            EntryIndex::Charge(at) => {
                let Some(it) = found.charges.get(at as usize) else { return Ok(()) };
                let (_, site) = self.site(it.lock)?;
                let (waiter, charged_ns) = (self.thread(it.waiter), it.charged_ns);
                let place = self.place;
                let blame = Blame { charged_ns, site, waiter, place, ..Blame::default() };
                self.importer.log.note(lane, at_ns, blame)
            }
            EntryIndex::Taking(at) => {
                let taking = found.takings.get(at as usize);
                let Some(it) = taking else { return Ok(()) };
                let Held { place, class, hash } = self.held(it.lock);
                if hash == 0 {
                    return Ok(());
                }
                let instance = Instance { hash, class, place, shared: it.is_shared };
                self.importer.log.note(lane, 0, instance)
            }
            EntryIndex::Nest(at) => {
                let Some(it) = pairs.nestings.get(at as usize) else { return Ok(()) };
                let outer: Vec<Held> = it.outer.iter().map(|&lock| self.held(lock)).collect();
                let (inner, stack) = (self.held(it.inner), id::EMPTY_STACK);
                let outer = outer.as_slice().into();
                self.importer.log.note(
                    lane,
                    at_ns,
                    Nest { delta_ns: 0, inner, stack, outer, flags: 0 },
                )
            }
        }
    }

    /// Sums of acquisitions, by thread and class.
    fn write_sums(&mut self, lane: LaneId) -> io::Result<()> {
        let mut cells: BTreeMap<(u32, u32), AcquisitionCell> = BTreeMap::new();
        let new = |thread, class| AcquisitionCell {
            thread,
            place: self.place,
            class,
            one_in: Some(1),
            ..AcquisitionCell::default()
        };
        for it in &self.pairs.acquisitions {
            let (thread, class) = (self.thread(it.thread), self.held(it.lock).class);
            let cell = cells.entry((thread, class)).or_insert_with(|| new(thread, class));
            cell.acquisitions += 1;
            if it.exit_ns != NEVER {
                let hold_ns = it.exit_ns - it.enter_ns;
                cell.sampled_count += 1;
                cell.sampled_ns = cell.sampled_ns.saturating_add(hold_ns);
                cell.max_ns = cell.max_ns.max(hold_ns);
                if let Some(count) = cell.histogram.get_mut(bucket(hold_ns)) {
                    *count = count.saturating_add(1);
                }
            }
        }
        for (&(thread, lock), &count) in &self.pairs.reentrant {
            let (thread, class) = (self.thread(thread), self.held(lock).class);
            let cell = cells.entry((thread, class)).or_insert_with(|| new(thread, class));
            cell.reentrant = cell.reentrant.saturating_add(count);
        }
        for cell in cells.values() {
            self.importer.log.acquisitions(lane, cell)?;
        }
        Ok(())
    }

    /// Writes who had asked for a lock, long before the log ended, and not got it.
    fn write_pending(&mut self) -> io::Result<()> {
        let held = self.pairs.acquisitions.iter().filter(|it| it.exit_ns == NEVER);
        let owners: HashMap<u32, u32> = held.map(|it| (it.lock, it.thread)).collect();
        let pairs = self.pairs;
        for (number, thread) in (0u32..).zip(&pairs.threads) {
            let Some((lock, start_ns)) = thread.asks else { continue };
            if start_ns.saturating_add(WRITTEN_EVERY_NS) > pairs.last_ns {
                continue;
            }
            let owner = owners.get(&lock).filter(|owner| **owner != number);
            let owner = owner.map_or(id::UNKNOWN, |owner| self.thread(*owner));
            let (lock, _) = self.site(lock)?;
            let (kind, stack) = (WaitKind::Monitor, id::EMPTY_STACK);
            let thread = self.thread(number);
            let (seen_ns, flags) = (self.pairs.last_ns, 0);
            let pending = Pending { thread, kind, stack, lock, owner, start_ns, seen_ns, flags };
            self.importer.log.pending(&pending)?;
        }
        Ok(())
    }
}
