//! The pass over what is recorded besides waits: acquisition cells, sampled stacks of
//! holds, and blame, all of trace mode, and who ended waits.

use super::{
    asked::{BlameKey, LookSums},
    known::{known_class, known_thread},
    sums::WaitSums,
};
use crate::{filter::Window, hash::Table, near::Near};
use tyrion_formats::{HoldMode, Noted, Recording};
use tyrion_wire::{
    cell::{BUCKETS, Cell},
    def::id::{EMPTY_STACK, UNKNOWN},
    holder::Holder,
    span::Operation,
    trace::{AcquisitionCell, Blame, Hold, USUAL_PAIR_NS, hold_flag},
    wake::Wake,
};

/// What filters on time and duration leave of what trace mode records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// Acquisitions: they are counted over the whole recording, and no count
    /// tells when, or after which wait.
    pub(super) acquisitions: bool,
    /// Blame: it has a time, but a wait may be charged in parts, of which none
    /// tells how long the whole was.
    pub(super) blame: bool,
    /// Blame is of single locks alone: who held them, the looks at owners tell as of all others.
    is_aimed: bool,
}

impl Scope {
    pub(super) fn of(log: &Recording, window: &Window) -> Scope {
        let (trace, is_aimed) = (log.is_trace(), log.is_aimed());
        let any_duration = window.min_wait_ns == 0;
        Scope {
            acquisitions: (trace || is_aimed) && any_duration && !window.limits_time(),
            blame: trace && any_duration,
            is_aimed,
        }
    }
}

/// A thread's acquisitions at a place, of locks of a class: the cells added up.
#[derive(Clone, Debug)]
pub(super) struct CellSums {
    pub(super) acquisitions: u64,
    /// How many of these were not counted, but estimated.
    pub(super) uncounted: u64,
    /// The standard error of that.
    pub(super) acquisitions_error: u64,
    pub(super) reentrant: u64,
    pub(super) reentrant_error: u64,
    pub(super) failed: u64,
    pub(super) hold_ns: u64,
    /// How much of that may be the probes'.
    pub(super) of_probes_ns: u64,
    pub(super) measured: u64,
    /// Of how many of these is the average that the others count as.
    pub(super) basis: u64,
    pub(super) longest_ns: u64,
    pub(super) histogram: [u64; BUCKETS],
}

impl Default for CellSums {
    fn default() -> Self {
        let (acquisitions, uncounted, acquisitions_error) = Default::default();
        let (reentrant, reentrant_error, failed) = Default::default();
        let (hold_ns, of_probes_ns, measured, basis, longest_ns) = Default::default();
        CellSums {
            acquisitions,
            uncounted,
            acquisitions_error,
            reentrant,
            reentrant_error,
            failed,
            hold_ns,
            of_probes_ns,
            measured,
            basis,
            longest_ns,
            histogram: [0; BUCKETS],
        }
    }
}

impl CellSums {
    fn of(log: &Recording, cell: &AcquisitionCell, how: HoldMeasure) -> CellSums {
        let bursts = cell.bursts.unwrap_or_default();
        let measured = cell.first_count.saturating_add(cell.sampled_count);
        // Up to one pair of probes in each hold.
        let of_probes_ns = bursts.uncounted.saturating_mul(how.pair_ns);
        let hold_ns = log.hold_ns(how.mode, cell);
        CellSums {
            acquisitions: cell.acquisitions,
            uncounted: bursts.uncounted,
            acquisitions_error: bursts.uncounted_error,
            reentrant: cell.reentrant,
            reentrant_error: bursts.reentrant_error,
            failed: cell.failed,
            hold_ns,
            of_probes_ns: of_probes_ns.min(hold_ns),
            measured,
            basis: how.mode.basis(cell),
            longest_ns: cell.max_ns,
            histogram: cell.histogram.map(u64::from),
        }
    }

    /// Errors add up, too: those of different cells come from the same bursts, so this is
    /// an upper bound.
    pub(super) fn add(&mut self, other: &CellSums) {
        for (sum, value) in [
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.uncounted, other.uncounted),
            (&mut self.acquisitions_error, other.acquisitions_error),
            (&mut self.reentrant, other.reentrant),
            (&mut self.reentrant_error, other.reentrant_error),
            (&mut self.failed, other.failed),
            (&mut self.hold_ns, other.hold_ns),
            (&mut self.of_probes_ns, other.of_probes_ns),
            (&mut self.measured, other.measured),
            (&mut self.basis, other.basis),
        ] {
            *sum = sum.saturating_add(value);
        }
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (sum, value) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(value);
        }
    }
}

/// Thread, place, and class of the lock.
pub(super) type CellKey = (u32, u32, u32);
/// The same and a stack that was sampled.
pub(super) type SampleKey = (u32, u32, u32, u32);
/// Who ended a wait: thread and stack; the site of the wait.
pub(super) type WakeKey = (u32, u32, u32);

/// What an owner was doing: who waited for it, the stack of its group, the site of the wait.
pub(super) type OperationKey = (u32, u32, u32);

/// What the pass over a log finds besides waits. Sums in no order.
#[derive(Default)]
pub(super) struct TraceSums {
    pub(super) cells: Table<CellKey, CellSums>,
    /// How many holds had each stack, and how long they were.
    pub(super) samples: Table<SampleKey, WaitSums>,
    pub(super) blames: Table<BlameKey, WaitSums>,
    pub(super) wakes: Table<WakeKey, WaitSums>,
    /// What owners of locks were doing: who waited, the stack of the owner's group, the site.
    pub(super) operations: Table<OperationKey, WaitSums>,
    pub(super) asked: LookSums,
    /// Acquisitions in all, whatever the filter.
    pub(super) acquisitions: u64,
    /// Acquisitions at places whose definition is lost.
    pub(super) unknown_places: u64,
    /// Blame for waits whose site's definition is lost.
    pub(super) unknown_blame: WaitSums,
    /// Blame that the filter cannot choose from.
    pub(super) unsorted_blame: WaitSums,
}

impl TraceSums {
    /// How many sums there are.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
            + self.samples.len()
            + self.blames.len()
            + self.wakes.len()
            + self.operations.len()
            + self.asked.len()
    }

    /// Adds sums and leaves `other` empty.
    pub(super) fn add(&mut self, other: &mut TraceSums) {
        for (key, sums) in other.cells.drain() {
            self.cells.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.samples.drain() {
            self.samples.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.blames.drain() {
            self.blames.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.wakes.drain() {
            self.wakes.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.operations.drain() {
            self.operations.entry(key).or_default().add(&sums);
        }
        self.asked.take(&mut other.asked);
        for (sum, value) in [
            (&mut self.acquisitions, &mut other.acquisitions),
            (&mut self.unknown_places, &mut other.unknown_places),
        ] {
            *sum = sum.saturating_add(std::mem::take(value));
        }
        self.unknown_blame.add(&std::mem::take(&mut other.unknown_blame));
        self.unsorted_blame.add(&std::mem::take(&mut other.unsorted_blame));
    }
}

/// Sums what trace mode records.
pub(super) struct Tracer<'a> {
    log: &'a Recording,
    window: &'a Window,
    scope: Scope,
    how: HoldMeasure,
    /// Since when threads wait at the end of the log, by their ids.
    pending: Table<u32, u64>,
    /// As they are in the log.
    wakes: Near<WakeKey, WaitSums>,
    pub(super) sums: TraceSums,
}

/// How holds were measured.
#[derive(Clone, Copy)]
struct HoldMeasure {
    mode: HoldMode,
    /// What a pair of probes takes, in ns.
    pair_ns: u64,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(log: &'a Recording, window: &'a Window) -> Self {
        let pair_ns = log.pair_ns().unwrap_or(USUAL_PAIR_NS);
        let how = HoldMeasure { mode: log.hold_mode(), pair_ns };
        let scope = Scope::of(log, window);
        let pending = log.pending().iter().map(|it| (it.thread, it.start_ns)).collect();
        let (wakes, sums) = Default::default();
        Tracer { log, window, scope, how, pending, wakes, sums }
    }

    /// Adds an acquisition cell.
    pub(super) fn cell(&mut self, cell: &AcquisitionCell) {
        let sums = &mut self.sums;
        sums.acquisitions = sums.acquisitions.saturating_add(cell.acquisitions);
        if !self.scope.acquisitions {
            return;
        }
        if self.log.definitions().places().get(cell.place).is_none() {
            sums.unknown_places = sums.unknown_places.saturating_add(cell.acquisitions);
            return;
        }
        let thread = known_thread(self.log, cell.thread);
        let key = (thread, cell.place, known_class(self.log, cell.class));
        sums.cells.entry(key).or_default().add(&CellSums::of(self.log, cell, self.how));
    }

    /// Adds who ended a wait. There are few beside waits: their code shall not take the
    /// place of that of waits.
    #[inline(never)]
    pub(super) fn wake(&mut self, woken: &Noted<Wake>) {
        let Wake { site, waker, stack, wait_ns, .. } = woken.record;
        if self.window.holds(woken.at_ns) && wait_ns >= self.window.min_wait_ns {
            let gone = self.wakes.change((waker, stack, site), |sum| sum.add_wait(wait_ns));
            if let Some((key, sums)) = gone {
                self.put_wakes(key, &sums);
            }
        }
    }

    /// Adds what the owner of a lock was doing when a wait began.
    #[inline(never)]
    pub(super) fn operation(&mut self, noted: &Noted<Operation>) {
        let Operation { stack, site, wait_ns } = noted.record;
        if self.window.holds(noted.at_ns) && wait_ns >= self.window.min_wait_ns {
            self.put_operation((noted.thread, stack, site), &WaitSums::of(wait_ns));
        }
    }

    /// The same of waits that were folded, as far as they were taken.
    pub(super) fn folded_operation(&mut self, cell: &Cell, taken: &WaitSums) {
        if cell.group != EMPTY_STACK && taken.count != 0 {
            self.put_operation((cell.thread, cell.group, cell.site), taken);
        }
    }

    fn put_operation(&mut self, (waiter, stack, site): OperationKey, sums: &WaitSums) {
        let definitions = self.log.definitions();
        if definitions.sites().get(site).is_some() && definitions.stacks().group(stack).is_some() {
            let key = (known_thread(self.log, waiter), stack, site);
            self.sums.operations.entry(key).or_default().add(sums);
        }
    }

    #[inline(never)]
    fn put_wakes(&mut self, (waker, stack, site): WakeKey, sums: &WaitSums) {
        let definitions = self.log.definitions();
        if definitions.sites().get(site).is_some() {
            let stack = if definitions.stacks().get(stack).is_some() { stack } else { EMPTY_STACK };
            let key = (known_thread(self.log, waker), stack, site);
            self.sums.wakes.entry(key).or_default().add(sums);
        }
    }

    /// The sums, once nothing more comes.
    pub(super) fn finish(&mut self) -> &mut TraceSums {
        for (key, sums) in self.wakes.drain() {
            self.put_wakes(key, &sums);
        }
        &mut self.sums
    }

    /// Adds what the owner of a lock did.
    #[inline(never)]
    pub(super) fn holder(&mut self, answered: &Noted<Holder>) {
        // What has not ended is in no sum of waits.
        let since_ns = self.pending.get(&answered.thread);
        if since_ns.is_none_or(|&since_ns| answered.at_ns < since_ns) {
            self.sums.asked.add(self.log, self.window, answered);
        }
    }

    /// Adds a hold whose stack was taken.
    pub(super) fn hold(&mut self, held: &Noted<Hold>) {
        if !self.scope.acquisitions || held.record.flags & hold_flag::IN_SPAN != 0 {
            return;
        }
        let (thread, hold) = (known_thread(self.log, held.thread), &held.record);
        let definitions = self.log.definitions();
        let known = definitions.stacks().get(hold.stack).is_some()
            && definitions.places().get(hold.place).is_some();
        if known {
            let key = (thread, hold.place, known_class(self.log, hold.class), hold.stack);
            self.sums.samples.entry(key).or_default().add_wait(hold.hold_ns);
        }
    }

    /// Adds what a thread that has released a lock is charged with.
    pub(super) fn blame(&mut self, charge: &Noted<Blame>) {
        let (thread, blame) = (known_thread(self.log, charge.thread), &charge.record);
        if self.scope.is_aimed {
            return;
        }
        let charged = WaitSums { count: 1, wait_ns: blame.charged_ns, max_ns: blame.charged_ns };
        if !self.scope.blame {
            self.sums.unsorted_blame.add(&charged);
            return;
        }
        if !self.window.holds(charge.at_ns) {
            return;
        }
        let definitions = self.log.definitions();
        if definitions.sites().get(blame.site).is_none() {
            self.sums.unknown_blame.add(&charged);
            return;
        }
        // Made-up ids shall not take memory, here neither.
        let stack = match definitions.stacks().get(blame.stack) {
            Some(_) => blame.stack,
            None => EMPTY_STACK,
        };
        let place = match definitions.places().get(blame.place) {
            Some(_) if stack == EMPTY_STACK => blame.place,
            _ => UNKNOWN,
        };
        let key = (thread, stack, place, blame.site);
        self.sums.blames.entry(key).or_default().add(&charged);
    }
}
