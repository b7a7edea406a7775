//! What bursts have counted, and what follows for the time between them.

use super::{Slot, slot_of};
use crate::trace::{
    Trace,
    memory::{BurstsCell, Estimate},
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tyrion_wire::WaitKind;

/// A cell that may count in bursts, and what is known of it.
pub struct Watched {
    of: &'static BurstsCell,
    /// The Java id of its thread; 0 for all virtual ones.
    pub owner: i64,
    /// That of its place.
    pub slot: Slot,
    /// Whether its place can be counted in bursts.
    pub is_fit: bool,
    /// Whether it is a monitor's of which that cannot be said.
    pub is_unpaired: bool,
    is_looked_at: bool,
    /// What the choice of places has taken into account.
    told: u64,
    /// Acquisitions, and reentrant ones.
    series: [Series; 2],
    bursts: u64,
}

impl Watched {
    /// A new cell of a thread, which has counted nothing.
    pub fn new(of: &'static BurstsCell, owner: i64) -> Watched {
        Watched {
            of,
            owner,
            slot: 0,
            is_fit: false,
            is_unpaired: false,
            is_looked_at: false,
            told: 0,
            series: Default::default(),
            bursts: 0,
        }
    }

    /// Finds out of what kind its place is.
    pub fn look(&mut self, trace: &Trace) {
        if !self.is_looked_at {
            self.is_looked_at = true;
            let place = self.of.cell.place.load(Relaxed);
            let places = trace.recorder().places();
            self.slot = slot_of(places.base(place));
            self.is_fit = is_fit(trace, place);
            self.is_unpaired = places.with(place, |place, is_paired| {
                !is_paired && place.taken.kind == WaitKind::Monitor
            });
        }
    }

    /// How often its locks were taken since this was last asked.
    pub fn more(&mut self) -> u64 {
        let all = self.counted().iter().fold(0, |sum: u64, counted| sum.saturating_add(*counted));
        let more = all.saturating_sub(self.told);
        self.told = all;
        more
    }

    fn counted(&self) -> [u64; 2] {
        let cell = &self.of.cell;
        [&cell.acquisitions, &cell.reentrant].map(|count| count.load(Relaxed))
    }

    /// How many holds were measured, and their time in ns.
    pub fn holds(&self) -> (u64, u64) {
        let [first, sampled] = [&self.of.cell.first, &self.of.cell.sampled];
        let sum = |a: &AtomicU64, b: &AtomicU64| a.load(Relaxed).saturating_add(b.load(Relaxed));
        (sum(&first.count, &sampled.count), sum(&first.ns, &sampled.ns))
    }

    /// The time between two looks is over, which was a burst if the place is counted in
    /// bursts: what was counted in it.
    pub fn end_burst(&mut self, is_burst: bool) {
        let counted = self.counted();
        for (series, counted) in self.series.iter_mut().zip(counted) {
            series.burst = counted.saturating_sub(series.counted);
            series.counted = counted;
        }
        self.bursts += u64::from(is_burst);
    }

    /// What the last burst has counted, or all bursts and what came before them.
    pub fn weight(&self, of: Weight) -> u64 {
        self.series.iter().fold(0, |sum, series| sum.saturating_add(series.weight(of)))
    }

    /// How many acquisitions of a burst can seem to be outermost that are not: what is held
    /// when it begins is not known then, so what is taken again before that is released seems
    /// to be taken for the first time. The rule is one for each thread.
    fn edge(&self) -> f64 {
        if self.series[1].counted == 0 { 0.0 } else { 1.0 }
    }

    /// Adds this cell's part of what was taken outside of bursts: as much as its weight
    /// is of all.
    pub fn add(&mut self, taken: u64, of: Weight, all: u64) {
        let edge = if of == Weight::Burst { self.edge() } else { 0.0 };
        let estimates = [&self.of.uncounted, &self.of.reentrant];
        for (series, estimate) in self.series.iter_mut().zip(estimates) {
            let share = series.weight(of) as f64 / all.max(1) as f64;
            series.add(taken as f64, share, of);
            series.common += taken as f64 * edge / all.max(1) as f64;
            if of == Weight::Counted {
                // As in a sample of so many.
                series.common += taken as f64 * (share * (1.0 - share) / all.max(1) as f64).sqrt();
            }
            series.store(estimate);
        }
        self.of.bursts.store(self.bursts, Relaxed);
    }
}

/// What tells how much of a sum is of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// What the last burst has counted.
    Burst,
    /// All that was counted.
    Counted,
    /// The same, though what is to be given is of other threads.
    Others,
}

/// Whether a place can be counted in bursts: all probes of its releases know it, or look
/// for what is held. Permits of semaphores may be given back by any thread.
pub fn is_fit(trace: &Trace, place: u32) -> bool {
    let places = trace.recorder().places();
    places.with(place, |place, is_paired| is_paired && place.taken.kind != WaitKind::Semaphore)
}

/// A number of a cell that is counted in bursts.
#[derive(Default)]
struct Series {
    /// All that has been counted.
    counted: u64,
    /// In the last burst.
    burst: u64,
    /// What was not counted, as estimated.
    uncounted: f64,
    /// This cell's share of what the burst before has counted.
    share: Option<f64>,
    /// The squares of what estimates would have differed with the burst before in place
    /// of their own.
    squares: f64,
    /// Errors that are the same in every burst, added up; among them what is of threads
    /// that have no cell.
    common: f64,
}

impl Series {
    fn weight(&self, of: Weight) -> u64 {
        match of {
            Weight::Burst => self.burst,
            Weight::Counted | Weight::Others => self.counted,
        }
    }

    fn add(&mut self, taken: f64, share: f64, of: Weight) {
        self.uncounted += taken * share;
        match of {
            Weight::Burst => {
                let before = self.share.replace(share).unwrap_or(share);
                self.squares += (taken * (share - before)).powi(2);
            }
            Weight::Counted => {}
            // None of it may be this thread's.
            Weight::Others => self.common += taken * share,
        }
    }

    fn store(&self, estimate: &Estimate) {
        // Neighbouring bursts tell how much one differs from another, whatever the
        // program's phases.
        let error = (self.squares / 2.0).sqrt() + self.common;
        estimate.number.store(self.uncounted.round() as u64, Relaxed);
        estimate.error.store(error.ceil() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64, as a number from 0 to 1.
    fn uniform(random: &mut u64) -> f64 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn where_a_cell_is_alone_its_number_is_exact() {
        let mut series = Series::default();
        for taken in [1_000.0, 7.0, 123_456.0] {
            series.add(taken, 1.0, Weight::Burst);
        }
        assert_eq!((series.uncounted, series.squares), (124_463.0, 0.0));
    }

    /// Two cells share what is taken, and how changes: slowly, with much noise. The mean
    /// of many estimates is right, and most are within two standard errors.
    #[test]
    fn estimates_are_as_good_as_they_say() {
        let random = &mut 1_u64;
        let (mut within, mut sum, runs) = (0, 0.0, 400);
        for _ in 0..runs {
            let (mut series, mut truth) = (Series::default(), 0.0);
            let phase = uniform(random) * 6.3;
            for cycle in 0..200 {
                let taken = 30_000.0 * (0.5 + uniform(random));
                let share = 0.3 + 0.2 * (f64::from(cycle) / 30.0 + phase).sin();
                truth += taken * share;
                let seen = share + 0.2 * (uniform(random) - 0.5);
                series.add(taken, seen, Weight::Burst);
            }
            let off = (series.uncounted - truth) / truth;
            sum += off;
            within += usize::from(off.abs() <= 2.0 * (series.squares / 2.0).sqrt() / truth);
        }
        assert!((sum / f64::from(runs)).abs() < 0.003, "biased by {sum} in {runs}");
        assert!(within as f64 > 0.9 * f64::from(runs), "{within} within 2 errors");
    }
}
