//! What the Java half of the probes takes: how often they are met, which the cells
//! tell, times what one takes.
//!
//! In a loop that takes one lock, a pair of probes takes some 5 ns. In a database it
//! takes 40, and where threads wait 150: what the probes look at is in the caches of
//! other processors, or in none. So some are timed where they are, in the program
//! (`TyrionTrace.timed`), without what the clock takes: by chance, those that follow
//! about one in 256 acquisitions.

use super::{Trace, memory::Sum};
use crate::sync::lock;
use std::sync::{Mutex, atomic::Ordering::Relaxed};
use tyrion_wire::trace::USUAL_PAIR_NS;

/// So many timed probes of either kind must come first: until then the JVM
/// interprets what times them, or compiles it badly.
const WARM_UP: u64 = 6_000;
/// A mean is of at least so many.
const MANY: u64 = 500;
/// What a pair takes at a place that is counted in bursts, outside of these, ns: it is too
/// short to be timed.
const OUTSIDE_NS: u64 = 3;

/// What is known so far.
#[derive(Default)]
pub struct ProbesCost {
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// How many acquisitions were charged for.
    counted: u64,
    /// With this, in ns.
    charged_ns: f64,
    taking: Mean,
    leaving: Mean,
}

/// What timed probes of one kind took.
#[derive(Default)]
struct Mean {
    /// Sums that the mean was taken of last.
    count: u64,
    sum_ns: i64,
    /// It, in ns.
    mean_ns: Option<f64>,
}

impl Mean {
    /// Takes up what was timed since.
    fn update(&mut self, sum: &Sum) {
        let (count, sum_ns) = (sum.count.load(Relaxed), sum.ns.load(Relaxed).cast_signed());
        let more = count.saturating_sub(self.count);
        // Those of the warm-up become no mean.
        let is_warm = self.count >= WARM_UP;
        if more >= MANY && (is_warm || count >= WARM_UP) {
            if is_warm {
                let more_ns = sum_ns.wrapping_sub(self.sum_ns) as f64;
                self.mean_ns = Some((more_ns / more as f64).max(0.0));
            }
            (self.count, self.sum_ns) = (count, sum_ns);
        }
    }
}

impl Known {
    /// What a pair takes by now, if that was measured.
    fn pair_ns(&self) -> Option<f64> {
        Some(self.taking.mean_ns? + self.leaving.mean_ns?)
    }

    /// Charges acquisitions up to this number with what they take by now, and
    /// returns all of it, in ns.
    fn charge(&mut self, counted: u64) -> u64 {
        let more = counted.saturating_sub(self.counted);
        self.charged_ns += more as f64 * self.pair_ns().unwrap_or(USUAL_PAIR_NS as f64);
        self.counted = counted.max(self.counted);
        self.charged_ns as u64
    }
}

impl Trace {
    /// What the Java half of the probes took since the JVM started, in ns; estimated.
    pub fn probes_ns(&self) -> u64 {
        let mut known = lock(&self.cost.state);
        known.taking.update(&self.shared.timed.taking);
        known.leaving.update(&self.shared.timed.leaving);
        let outside_ns = self.taken_outside_bursts().saturating_mul(OUTSIDE_NS);
        known.charge(self.cells.counted()).saturating_add(outside_ns)
    }

    /// Numbers about that, by the names that they have in the log: how many probes
    /// were timed, and what a pair takes by now, where that was measured.
    pub(super) fn timed_probes(&self) -> Vec<(String, u64)> {
        let timed = &self.shared.timed;
        let count = [&timed.taking, &timed.leaving].map(|sum| sum.count.load(Relaxed));
        let mut values = vec![("probes.timed".to_owned(), count.iter().sum())];
        let pair_ns = lock(&self.cost.state).pair_ns();
        values.extend(pair_ns.map(|ns| ("probes.pair_ns".to_owned(), ns.round() as u64)));
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn sum(count: u64, ns: i64) -> Sum {
        Sum { count: AtomicU64::new(count), ns: AtomicU64::new(ns.cast_unsigned()) }
    }

    #[test]
    fn a_mean_is_of_the_last_that_were_timed_warm() {
        let mut mean = Mean::default();
        mean.update(&sum(5_900, 5_900_000));
        assert_eq!(mean.mean_ns, None, "too few");
        mean.update(&sum(10_000, 10_000_000));
        assert_eq!(mean.mean_ns, None, "the warm-up's");
        mean.update(&sum(10_400, 10_020_000));
        assert_eq!(mean.mean_ns, None, "too few behind it");
        mean.update(&sum(11_000, 10_050_000));
        assert_eq!(mean.mean_ns, Some(50.0));
        mean.update(&sum(11_010, 11_050_000));
        assert_eq!(mean.mean_ns, Some(50.0), "too few for another");
        mean.update(&sum(12_000, 10_060_000));
        assert_eq!(mean.mean_ns, Some(10.0));
        mean.update(&sum(13_000, 10_000_000));
        assert_eq!(mean.mean_ns, Some(0.0), "a clock that is read faster now");
    }

    #[test]
    fn each_acquisition_is_charged_once_with_what_it_took_then() {
        let mut known = Known::default();
        assert_eq!(known.charge(100), 3000);
        known.taking.mean_ns = Some(40.0);
        assert_eq!(known.charge(200), 6000, "half is not known");
        known.leaving.mean_ns = Some(10.5);
        assert_eq!(known.charge(300), 6000 + 5050);
        assert_eq!(known.charge(250), 11_050, "cells were forgotten meanwhile");
        assert_eq!(known.charge(301), 11_100);
    }
}
