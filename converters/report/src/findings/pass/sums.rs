//! What is summed over all logs.

use super::{
    super::{
        axis::{Axis, Grid, Series},
        delay::Delay,
        histogram,
        ranks::Ranks,
    },
    heat::Heat,
    time_use::TimeUse,
};
use std::collections::HashMap;
use tyrion_wire::cell::BUCKETS;

/// Charged waits by the thread groups of holder and waiter, lock group, and
/// code of the kind.
pub(in super::super) type Blames = HashMap<(u32, u32, u32, u8), Delay>;

/// What is summed over all logs.
pub(in super::super) struct Sums {
    pub(super) phases: Grid,
    pub(super) boxes: Grid,
    /// Waits by distribution and fine bucket.
    pub(in super::super) counts: Vec<u64>,
    /// Folded waits by distribution and power of two.
    pub(in super::super) folded: Vec<[u64; BUCKETS]>,
    /// What threads did with their time.
    pub(in super::super) used: TimeUse,
    /// By row of the locks' timeline, one for all other locks, and one of no meaning.
    pub(in super::super) heat: Heat,
    /// By box.
    pub(in super::super) all: Series,
    /// The same rows.
    pub(super) rows: Vec<u64>,
    pub(in super::super) locks: Vec<Series>,
    pub(in super::super) threads: Vec<Series>,
    pub(in super::super) blames: Blames,
}

impl Sums {
    pub(in super::super) fn new(axis: &Axis, ranks: &Ranks) -> Sums {
        let (phases, boxes) = (axis.phases(), axis.boxes());
        // One for the rest, and one for what is not shown.
        let distributions = ranks.distributions.len() + 2;
        let of_boxes = |rows: usize| vec![Series::new(&boxes); rows];
        Sums {
            counts: vec![0; distributions * histogram::LEN],
            folded: vec![[0; BUCKETS]; distributions],
            used: TimeUse::new(axis),
            all: Series::new(&boxes),
            heat: Heat::new(&boxes, ranks.groups.len() + 2),
            rows: vec![0; (ranks.groups.len() + 2) * boxes.len()],
            locks: of_boxes(ranks.groups.len()),
            threads: of_boxes(ranks.threads.len()),
            blames: Blames::new(),
            phases,
            boxes,
        }
    }

    /// Counts a wait in a distribution.
    #[inline(always)]
    pub(super) fn count(&mut self, distribution: u16, wait_ns: u64) {
        let at = usize::from(distribution) * histogram::LEN + histogram::index(wait_ns);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    pub(super) fn add(&mut self, other: &Sums) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, &more)| add(sum, more));
        let folded = self.folded.iter_mut().flatten().zip(other.folded.iter().flatten());
        folded.for_each(|(sum, &more)| add(sum, more));
        self.used.add(&other.used);
        self.heat.add(&other.heat);
        self.all.add(&other.all);
        let rows = other.rows.chunks(self.boxes.len());
        for (sum, row) in self.locks.iter_mut().zip(rows) {
            row.iter().enumerate().for_each(|(step, &ns)| sum.add_to(step, ns));
        }
        self.locks.iter_mut().zip(&other.locks).for_each(|(sum, more)| sum.add(more));
        self.threads.iter_mut().zip(&other.threads).for_each(|(sum, more)| sum.add(more));
        for (key, more) in &other.blames {
            *self.blames.entry(*key).or_default() += *more;
        }
    }
}
