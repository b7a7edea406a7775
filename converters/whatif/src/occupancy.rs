//! How many threads may have computed at the same time.

use crate::timeline::Gap;
use rayon::prelude::*;

/// A thread that neither takes nor wants a shared lock for this long may be asleep
/// instead of computing.
pub(crate) const LONG_NS: u64 = 100_000_000;

/// The part of their time for which busy processors appear busy.
const BUSY: f64 = 0.9;

/// How many threads were in gaps at the same time: on a processor, or waiting for one, or
/// for something that is not recorded.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    /// The times from which on the number of threads applies.
    steps: Vec<(u64, u32)>,
    /// By number of threads: for how long there were that many, in ns.
    time_with: Vec<u64>,
    /// The total length of the gaps: those shorter than [`LONG_NS`], and the others.
    pub(crate) short_ns: u64,
    pub(crate) long_ns: u64,
}

impl Occupancy {
    /// From the gaps of all threads; the long ones only count as such.
    pub(crate) fn new<'a>(gaps: impl Iterator<Item = &'a Gap>) -> Occupancy {
        let mut of = Occupancy::default();
        let mut edges: Vec<(u64, i32)> = Vec::new();
        for gap in gaps {
            let ns = gap.end_ns - gap.start_ns;
            if ns >= LONG_NS {
                of.long_ns = of.long_ns.saturating_add(ns);
            } else {
                of.short_ns = of.short_ns.saturating_add(ns);
                edges.push((gap.start_ns, 1));
                edges.push((gap.end_ns, -1));
            }
        }
        edges.par_sort_unstable();
        let (mut now, mut since_ns) = (0i32, 0);
        for (at_ns, change) in edges {
            if at_ns > since_ns && now > 0 {
                let with = now as usize;
                of.time_with.resize(of.time_with.len().max(with + 1), 0);
                of.time_with[with] += at_ns - since_ns;
            }
            (now, since_ns) = (now + change, at_ns);
            match of.steps.last_mut() {
                Some(last) if last.0 == at_ns => last.1 = now.max(0) as u32,
                _ => of.steps.push((at_ns, now.max(0) as u32)),
            }
        }
        of
    }

    /// The number at a given time.
    pub(crate) fn at(&self, at_ns: u64) -> u32 {
        let after = self.steps.partition_point(|step| step.0 <= at_ns);
        after.checked_sub(1).map_or(0, |at| self.steps[at].1)
    }

    /// How much this many processors can have computed, in ns, if each thread in a gap
    /// computed for this share of it whenever it had a processor.
    pub(crate) fn capacity_ns(&self, share: f64, processors: Option<u32>) -> f64 {
        let most = processors.map_or(f64::INFINITY, f64::from);
        let with = self.time_with.iter().enumerate();
        with.map(|(threads, &ns)| ns as f64 * (share * threads as f64).min(most)).sum()
    }

    /// The share of their gaps for which threads were runnable, given the total of what was
    /// computed. It is 1 if that total is nearly as large as possible: then all processors
    /// were busy, whatever else wanted one.
    pub(crate) fn share(&self, cpu_ns: f64, processors: Option<u32>) -> f64 {
        if self.capacity_ns(1.0, processors) * BUSY <= cpu_ns {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            match self.capacity_ns(middle, processors) < cpu_ns {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::NONE;

    fn gap(start_ns: u64, end_ns: u64) -> Gap {
        Gap { start_ns, end_ns, lock: NONE }
    }

    #[test]
    fn threads_are_counted_at_each_moment() {
        let gaps = [gap(10, 50), gap(20, 40), gap(50, 60), gap(0, LONG_NS)];
        let of = Occupancy::new(gaps.iter());
        let at = [0, 10, 19, 20, 39, 40, 50, 60, 99].map(|ns| of.at(ns));
        assert_eq!(at, [0, 1, 1, 2, 2, 1, 1, 0, 0]);
        assert_eq!((of.short_ns, of.long_ns), (70, LONG_NS));
        assert_eq!(of.capacity_ns(1.0, None), 70.0);
        assert_eq!(of.capacity_ns(1.0, Some(1)), 50.0);
        assert_eq!(of.capacity_ns(0.5, Some(1)), 35.0);
    }

    #[test]
    fn shares_follow_from_what_was_computed() {
        let of = Occupancy::new([gap(0, 100), gap(0, 100), gap(0, 100), gap(0, 100)].iter());
        assert!((of.share(200.0, None) - 0.5).abs() < 1e-9);
        assert!((of.share(100.0, Some(2)) - 0.25).abs() < 1e-9);
        assert_eq!(of.share(200.0, Some(2)), 1.0, "the processors were busy all along");
        assert_eq!(of.share(1e9, None), 1.0);
        assert!(of.share(0.0, None) < 1e-9);
    }
}
