//! What a worker does besides summing waits one by one: folded ones, and blame.

use super::{
    super::{busy::SpentTime, delay::Delay},
    Count,
    time_use::Use,
    worker::DelayVisitor,
};
use tyrion_formats::{Event, Noted};
use tyrion_wire::{
    cell::{BUCKETS, Cell, bucket_floor_ns},
    def::id::UNKNOWN,
    holder::Holder,
    trace::Blame,
};

impl DelayVisitor<'_, '_> {
    pub(super) fn folded(&mut self, cell: &Cell) {
        let Some(site) = self.sites.get(cell.site as usize) else { return };
        let known = self.wanted.get(cell.thread as usize).or(self.wanted.first());
        let Some(wanted) = known.filter(|wanted| wanted.wanted) else { return };
        let last_ns = cell.last_ns.max(cell.first_ns);
        if let Some(tally) = self.threads.get(cell.thread as usize) {
            tally.add(Delay::default(), cell.first_ns, last_ns);
        }
        let middle_ns = cell.first_ns + (last_ns - cell.first_ns) / 2;
        let part = self.window.part_of_cell(cell);
        let taken = part.count != 0;
        let min_ns = if part.is_estimated { self.window.min_wait_ns } else { 0 };
        let shown = site.count.is_shown() && taken;
        let is_timed = !self.job.log.facts().lacks.times;
        let owner = self.wanted.get(cell.owner as usize).filter(|_| cell.owner != 0 && shown);
        if let Some(owner) = owner {
            let waits = Delay { count: part.count, wait_ns: part.wait_ns };
            self.owners.add_waits((wanted.group, owner.group, cell.site), waits);
        }
        let sums = &mut self.sums;
        let folded = sums.folded.get_mut(usize::from(site.distribution));
        if let Some(folded) = folded.filter(|_| shown) {
            for (bucket, (sum, &waits)) in folded.iter_mut().zip(&cell.histogram).enumerate() {
                *sum = sum.saturating_add(long_enough(bucket, waits, min_ns));
            }
        }
        let boxes = sums.boxes;
        let from_ns = self.clock.exact(cell.first_ns);
        let span = (from_ns, from_ns + i128::from(last_ns - cell.first_ns));
        if !is_timed {
            return;
        }
        if site.count.is_idle() && wanted.lives {
            sums.used.add_spread(Use::Idle, span, cell.sum_ns);
        }
        if site.count.is_withheld() && taken && wanted.lives {
            sums.used.add_spread(Use::Withheld, span, cell.sum_ns);
        }
        if let Some(tally) = self.threads.get(cell.thread as usize).filter(|_| wanted.lives) {
            let idle = site.count.is_idle() && self.window.holds(middle_ns);
            let contended = shown && site.count == Count::Contention;
            tally.spend(SpentTime {
                idle_ns: if idle { cell.sum_ns } else { 0 },
                contended_ns: if contended { cell.sum_ns } else { 0 },
            });
        }
        if shown {
            let in_box = boxes.step(self.clock.at(middle_ns));
            for (bucket, &waits) in cell.histogram.iter().enumerate() {
                let waits = long_enough(bucket, waits, min_ns) as u32;
                sums.heat.count(in_box, site.row, bucket_floor_ns(bucket), waits);
            }
            if site.count == Count::Contention && wanted.lives {
                sums.used.add_spread(Use::Contended(site.band), span, cell.sum_ns);
            }
            let rows = [
                Some(&mut sums.all),
                sums.locks.get_mut(usize::from(site.row)),
                sums.threads.get_mut(wanted.row as usize),
            ];
            rows.into_iter().flatten().for_each(|row| row.add_spread(&boxes, span, cell.sum_ns));
        }
    }

    /// Adds how much of a wait fell into pauses of the garbage collector, if it is shown.
    #[inline]
    pub(super) fn in_pauses(&mut self, event: &Event) {
        let Some(pauses) = self.job.pauses else { return };
        let span = (event.start_ns, event.end_ns);
        let ns = pauses.within_ns(span, &mut self.next_pause);
        if ns == 0 || !self.is_shown(event) {
            return;
        }
        if let Some(sum) = self.collected_ns.get_mut(event.site as usize) {
            *sum = sum.saturating_add(ns);
        }
    }

    fn is_shown(&self, event: &Event) -> bool {
        let thread = self.wanted.get(event.thread as usize).or(self.wanted.first());
        let site = self.sites.get(event.site as usize);
        site.is_some_and(|site| site.count.is_shown())
            && thread.is_some_and(|thread| thread.wanted)
            && event.wait_ns() >= self.window.min_wait_ns
            && self.window.holds(event.end_ns)
    }

    /// What the profile takes of blame, by the groups of both threads.
    pub(super) fn blame(&mut self, traced: &Noted<Blame>) {
        let blame = &traced.record;
        let of = |thread: u32| self.wanted.get(thread as usize).or(self.wanted.first());
        let (Some(holder), Some(waiter)) = (of(traced.thread), of(blame.waiter)) else { return };
        if !holder.wanted || self.window.min_wait_ns != 0 || !self.window.holds(traced.at_ns) {
            return;
        }
        let Some((_, lock, kind)) = self.job.ids.site(blame.site) else { return };
        let key = (holder.group, waiter.group, self.job.groups.of(lock), kind.code());
        let charged = Delay { count: 1, wait_ns: blame.charged_ns };
        *self.sums.blames.entry(key).or_default() += charged;
    }

    /// The same of what was seen of owners: for so long a look stands.
    pub(super) fn asked(&mut self, answered: &Noted<Holder>) {
        let holder = &answered.record;
        let of = |thread: u32| self.wanted.get(thread as usize).or(self.wanted.first());
        let (Some(owner), Some(waiter)) = (of(holder.owner), of(answered.thread)) else { return };
        let is_seen = holder.owner != UNKNOWN;
        if !is_seen || !owner.wanted || !self.window.holds(answered.at_ns) {
            return;
        }
        let Some((_, lock, kind)) = self.job.ids.site(holder.site) else { return };
        let key = (owner.group, waiter.group, self.job.groups.of(lock), kind.code());
        let charged = Delay { count: 1, wait_ns: holder.stands_for_ns };
        *self.sums.blames.entry(key).or_default() += charged;
    }
}

/// How many waits of a bucket took at least so long, if they lie evenly in it.
fn long_enough(bucket: usize, waits: u32, min_ns: u64) -> u64 {
    let low = bucket_floor_ns(bucket);
    let high = if bucket + 1 < BUCKETS { bucket_floor_ns(bucket + 1) } else { u64::MAX };
    let inside = u128::from(high - min_ns.clamp(low, high));
    (u128::from(waits) * inside / u128::from(high - low)) as u64
}
