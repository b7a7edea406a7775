//! From the sums of trace mode to rows of the profile.

use super::{
    asked::{BlameEstimate, WaitsBySite},
    ids::WaitKey,
    resolve::Resolver,
    spread::shares,
    sums::WaitSums,
    trace::{CellSums, TraceSums},
};
use crate::{
    filter::Filter,
    merge::merge,
    profile::{AcquisitionRow, BlameRow, SampleRow, SectionRow},
};
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, def::id::EMPTY_STACK};

/// A thread's rows; their thread is not filled in yet.
#[derive(Default)]
pub(super) struct ThreadRows {
    pub(super) acquisitions: Vec<AcquisitionRow>,
    pub(super) sections: Vec<SectionRow>,
    pub(super) blames: Vec<BlameRow>,
    pub(super) wakes: Vec<BlameRow>,
    pub(super) operations: Vec<BlameRow>,
    pub(super) samples: Vec<SampleRow>,
}

impl ThreadRows {
    pub(super) fn is_empty(&self) -> bool {
        self.is_blame_only() && self.blames.is_empty() && self.wakes.is_empty()
    }

    /// Whether there is at most blame, and waits that it ended.
    pub(super) fn is_blame_only(&self) -> bool {
        self.sections.is_empty() && self.acquisitions.is_empty() && self.samples.is_empty()
    }

    /// Fills in whose rows they are.
    pub(super) fn set_thread(&mut self, thread: u32) {
        self.acquisitions.iter_mut().for_each(|row| row.thread = thread);
        self.sections.iter_mut().for_each(|row| row.thread = thread);
        self.blames.iter_mut().for_each(|row| row.thread = thread);
        self.wakes.iter_mut().for_each(|row| row.thread = thread);
        self.operations.iter_mut().for_each(|row| row.thread = thread);
        self.samples.iter_mut().for_each(|row| row.thread = thread);
    }
}

/// Where locks are taken, and of which class or name: frame, lock and kind.
type Spot = (u32, u32, WaitKind);

/// What waits are charged to: the thread, its stack, its place (which says where it was if
/// there is no stack), and the site of the waits.
type ChargeKey = (u32, u32, Option<u32>, u32);

/// What a thread did at one place.
#[derive(Default)]
struct Group {
    /// The place of the log, to make a stack of one frame of.
    place: u32,
    sums: CellSums,
    /// How many holds had each stack of the profile, and how long they were.
    stacks: BTreeMap<u32, WaitSums>,
}

/// Makes rows of sums.
pub(super) struct Rows<'r, 'a> {
    pub(super) log: &'a Recording,
    pub(super) filter: &'a Filter,
    pub(super) resolver: &'r mut Resolver<'a>,
    /// The threads that are asked for, ascending.
    pub(super) threads: &'r [u32],
    /// The keys of waits, and the number of its key for each site.
    pub(super) wait_keys: &'r [WaitKey],
    pub(super) key_of_site: &'r [u32],
}

impl Rows<'_, '_> {
    /// The rows by thread.
    pub(super) fn of(
        &mut self,
        mut sums: TraceSums,
        waits: &WaitsBySite,
    ) -> BTreeMap<u32, ThreadRows> {
        // What nobody asks for is left out first: what it names does not become
        // part of the profile.
        let wanted = |thread: u32| self.threads.binary_search(&thread).is_ok();
        sums.cells.retain(|key, _| wanted(key.0));
        sums.samples.retain(|key, _| wanted(key.0));
        sums.blames.retain(|key, _| wanted(key.0));
        sums.wakes.retain(|key, _| wanted(key.0));
        sums.operations.retain(|key, _| wanted(key.0));
        let mut rows: BTreeMap<u32, ThreadRows> = BTreeMap::new();
        for ((thread, spot), group) in self.groups(&sums) {
            self.add_group(rows.entry(thread).or_default(), spot, &group);
        }
        for rows in rows.values_mut() {
            // Two places may have a stack in common where the place's method
            // does not stand in it.
            merge(&mut rows.acquisitions);
        }
        let charged = |charged: WaitSums| BlameEstimate { charged, ..BlameEstimate::default() };
        let blames = sums.blames.iter().map(|(&(thread, stack, place, site), sums)| {
            ((thread, stack, Some(place), site), charged(*sums))
        });
        let asked = std::mem::take(&mut sums.asked).charge(waits).into_iter();
        let asked = asked.filter(|((thread, ..), _)| wanted(*thread)).map(
            |((thread, stack, place, site), estimated)| {
                ((thread, stack, Some(place), site), estimated)
            },
        );
        let blames: Vec<_> = blames.chain(asked).collect();
        for (thread, blames) in self.charged(blames.into_iter()) {
            rows.entry(thread).or_default().blames = blames;
        }
        let wakes = sums
            .wakes
            .iter()
            .map(|(&(thread, stack, site), ended)| ((thread, stack, None, site), charged(*ended)));
        for (thread, wakes) in self.charged(wakes) {
            rows.entry(thread).or_default().wakes = wakes;
        }
        let operations = sums
            .operations
            .iter()
            .map(|(&(thread, stack, site), waits)| ((thread, stack, None, site), charged(*waits)));
        for (thread, operations) in self.charged(operations) {
            rows.entry(thread).or_default().operations = operations;
        }
        rows
    }

    /// The cells by thread and place, whatever ids it had, with the stacks that
    /// were sampled there.
    fn groups(&mut self, sums: &TraceSums) -> BTreeMap<(u32, Spot), Group> {
        let mut cells: Vec<_> = sums.cells.iter().collect();
        cells.sort_unstable_by_key(|(key, _)| **key);
        let mut known: HashMap<(u32, u32), Option<Spot>> = HashMap::new();
        let mut groups: BTreeMap<(u32, Spot), Group> = BTreeMap::new();
        for (&(thread, place, class), cell) in cells {
            let spot = *known.entry((place, class)).or_insert_with(|| self.spot(place, class));
            if let Some(spot) = spot {
                let group = groups.entry((thread, spot)).or_default();
                group.place = place;
                group.sums.add(cell);
            }
        }
        let mut samples: Vec<_> = sums.samples.iter().collect();
        samples.sort_unstable_by_key(|(key, _)| **key);
        for (&(thread, place, class, stack), sample) in samples {
            let spot = known.get(&(place, class)).copied().flatten();
            let group = spot.and_then(|spot| groups.get_mut(&(thread, spot)));
            if let Some(group) = group {
                let stack = self.resolver.acquiring_stack(stack, place);
                group.stacks.entry(stack).or_default().add(sample);
            }
        }
        groups
    }

    /// The profile's place for one of the log, unless the filter leaves it out.
    fn spot(&mut self, place: u32, class: u32) -> Option<Spot> {
        let own = self.log.definitions().places().get(place)?;
        if !self.filter.kinds.contains(own.kind) {
            return None;
        }
        let lock = self.resolver.lock_of_place(place, class, self.filter.lock.as_ref())?;
        Some((self.resolver.place_frame(own), lock, own.kind))
    }

    fn add_group(&mut self, rows: &mut ThreadRows, spot: Spot, group: &Group) {
        let (frame, lock, kind) = spot;
        let sums = &group.sums;
        rows.sections.push(SectionRow {
            thread: 0,
            frame,
            lock,
            kind,
            acquisitions: sums.acquisitions,
            uncounted: sums.uncounted,
            acquisitions_error: sums.acquisitions_error,
            reentrant: sums.reentrant,
            reentrant_error: sums.reentrant_error,
            failed: sums.failed,
            hold_ns: sums.hold_ns,
            of_probes_ns: sums.of_probes_ns,
            measured: sums.measured,
            basis: sums.basis,
            longest_ns: sums.longest_ns,
            histogram: sums.histogram,
        });
        self.add_stacks(rows, (lock, kind), group);
    }

    /// Shares a group out over its stacks.
    fn add_stacks(&mut self, rows: &mut ThreadRows, (lock, kind): (u32, WaitKind), group: &Group) {
        let place_stack;
        let stacks = if group.stacks.is_empty() {
            let stack = self.resolver.place_stack(group.place);
            place_stack = BTreeMap::from([(stack, WaitSums::default())]);
            &place_stack
        } else {
            &group.stacks
        };
        let counts: Vec<u64> = stacks.values().map(|sums| sums.count).collect();
        let times: Vec<u64> = stacks.values().map(|sums| sums.wait_ns).collect();
        let times = if times.iter().all(|&ns| ns == 0) { &counts } else { &times };
        let sums = &group.sums;
        let acquisitions = shares(sums.acquisitions, &counts);
        let reentrant = shares(sums.reentrant, &counts);
        let hold_ns = shares(sums.hold_ns, times);
        // Errors are shared exactly as well, so that they add up to the same in all outputs.
        let acquisitions_error = shares(sums.acquisitions_error, &counts);
        let reentrant_error = shares(sums.reentrant_error, &counts);
        for (nth, &stack) in stacks.keys().enumerate() {
            let row = AcquisitionRow {
                thread: 0,
                stack,
                lock,
                kind,
                acquisitions: acquisitions[nth],
                acquisitions_error: acquisitions_error[nth],
                reentrant: reentrant[nth],
                reentrant_error: reentrant_error[nth],
                hold_ns: hold_ns[nth],
            };
            // Nothing may be left for a stack; attempts that failed are nothing.
            if !row.is_empty() {
                rows.acquisitions.push(row);
            }
        }
    }

    /// Waits by the thread that they are charged to, as its rows.
    fn charged(
        &mut self,
        charges: impl Iterator<Item = (ChargeKey, BlameEstimate)>,
    ) -> BTreeMap<u32, Vec<BlameRow>> {
        let mut charges: Vec<(ChargeKey, BlameEstimate)> = charges.collect();
        charges.sort_unstable_by_key(|(key, it)| (*key, it.above, it.is_free));
        let mut rows: BTreeMap<u32, Vec<BlameRow>> = BTreeMap::new();
        for ((thread, stack, place, site), estimated) in charges {
            let BlameEstimate { charged, above, is_free, answers, error_ns } = estimated;
            let at = self.key_of_site.get(site as usize).map_or(usize::MAX, |&at| at as usize);
            let Some(&(waiter_stack, lock, kind)) = self.wait_keys.get(at) else { continue };
            let stack = match (stack, place) {
                (EMPTY_STACK, Some(place)) => self.resolver.place_stack(place),
                _ => self.resolver.stack(stack),
            };
            rows.entry(thread).or_default().push(BlameRow {
                thread: 0,
                stack,
                lock,
                kind,
                waiter_stack,
                count: charged.count,
                blamed_ns: charged.wait_ns,
                above,
                free_ns: if is_free { charged.wait_ns } else { 0 },
                answers,
                error_ns,
            });
        }
        rows.values_mut().for_each(merge);
        rows
    }
}
