//! What of a record of samples is in a span of time.

use crate::totals::SampleTotals;
use tyrion_formats::Noted;
use tyrion_wire::sample::Sample;

/// The snapshots of a record, taken to have followed one another evenly over
/// the time that they stand for; a record may merge those of a second.
///
/// Real and CPU time belong to the span in which they passed, and a snapshot to
/// that in which the time that it stands for ended. So what is shown for
/// adjacent spans adds up to what is shown for both, to the ns.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    start_ns: u64,
    end_ns: u64,
    all: SampleTotals,
}

impl Spread {
    /// That of a record.
    pub fn of(sampled: &Noted<Sample>) -> Spread {
        let sample = &sampled.record;
        let all = SampleTotals {
            snapshots: sample.count,
            wall_ns: sample.wall_ns,
            cpu_ns: sample.cpu_ns,
        };
        Spread { start_ns: sampled.start_ns(), end_ns: sampled.at_ns, all }
    }

    /// All of it.
    pub fn all(&self) -> SampleTotals {
        self.all
    }

    /// What of it is from one monotonic time up to another, in ns.
    pub fn between(&self, from_ns: u64, until_ns: u64) -> SampleTotals {
        let (before, upto) = (self.before(from_ns), self.before(until_ns));
        SampleTotals {
            snapshots: upto.snapshots.saturating_sub(before.snapshots),
            wall_ns: upto.wall_ns.saturating_sub(before.wall_ns),
            cpu_ns: upto.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }

    fn before(&self, at_ns: u64) -> SampleTotals {
        let length = u128::from(self.end_ns - self.start_ns);
        if at_ns > self.end_ns || (at_ns == self.end_ns && length != 0) {
            return self.all;
        }
        let passed = u128::from(at_ns.saturating_sub(self.start_ns));
        // Rounding sums down, not parts, loses nothing between them.
        let share = |of: u64| (u128::from(of) * passed).checked_div(length).unwrap_or(0) as u64;
        SampleTotals {
            snapshots: share(self.all.snapshots),
            wall_ns: share(self.all.wall_ns),
            cpu_ns: share(self.all.cpu_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tyrion_wire::sample::Sample;

    fn spread(at_ns: u64, (count, wall_ns, cpu_ns): (u64, u64, u64)) -> Spread {
        let sample = Sample { count, wall_ns, cpu_ns, ..Sample::default() };
        Spread::of(&Noted { thread: 0, at_ns, record: sample })
    }

    fn totals(snapshots: u64, wall_ns: u64, cpu_ns: u64) -> SampleTotals {
        SampleTotals { snapshots, wall_ns, cpu_ns }
    }

    #[test]
    fn a_record_is_split_evenly() {
        // Snapshots at 100, 120, 140 and 160, each of the 20 ns before.
        let four = spread(160, (4, 80, 8));
        assert_eq!(four.between(0, u64::MAX), totals(4, 80, 8));
        assert_eq!(four.between(0, 100), totals(1, 20, 2));
        assert_eq!(four.between(100, 160), totals(3, 60, 6));
        assert_eq!(four.between(160, 200), totals(0, 0, 0));
        assert_eq!(four.between(105, 115), totals(0, 10, 1));
        // One that stands for no time is where it was taken.
        let moment = spread(50, (1, 0, 3));
        assert_eq!(moment.between(0, 50), totals(0, 0, 0));
        assert_eq!(moment.between(50, 51), totals(1, 0, 3));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_doubled(
            at_ns: u64, count: u64, wall_ns: u64, cpu_ns: u64, mut cuts: [u64; 3],
        ) {
            cuts.sort_unstable();
            let spread = spread(at_ns, (count, wall_ns, cpu_ns));
            let mut sum = SampleTotals::default();
            let mut from_ns = 0;
            for until_ns in cuts {
                sum.add(&spread.between(from_ns, until_ns));
                from_ns = until_ns;
            }
            sum.add(&spread.between(from_ns, u64::MAX));
            if at_ns < u64::MAX {
                prop_assert_eq!(sum, spread.all());
            }
        }
    }
}
