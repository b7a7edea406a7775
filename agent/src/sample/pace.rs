//! When the next snapshot is due: by chance, so that it cannot beat with the
//! program.

/// Times between snapshots are up to a quarter shorter or longer than the
/// period.
const SPREAD: u64 = 4;

/// A small generator of random numbers (xorshift).
#[derive(Clone, Debug)]
pub struct Pace(u64);

impl Pace {
    /// Begins somewhere.
    pub fn new(seed: u64) -> Pace {
        Pace(seed | 1)
    }

    /// The time until the next snapshot, ns: the period in the mean.
    pub fn interval_ns(&mut self, period_ns: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let spread_ns = period_ns / SPREAD;
        let chance = u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let part_ns = (chance * u128::from(2 * spread_ns + 1)) >> u64::BITS;
        period_ns - spread_ns + part_ns as u64
    }

    /// When the snapshot after the one that was due at `due_ns` is due. One
    /// that came late does not make others come in a row.
    pub fn next_ns(&mut self, due_ns: u64, now_ns: u64, period_ns: u64) -> u64 {
        let interval_ns = self.interval_ns(period_ns);
        let next_ns = due_ns + interval_ns;
        if next_ns > now_ns { next_ns } else { now_ns + interval_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_spread_around_the_period() {
        for seed in [0, 1, 12345, u64::MAX] {
            let mut pace = Pace::new(seed);
            let period_ns = 50_000_000;
            let intervals: Vec<_> = (0..10_000).map(|_| pace.interval_ns(period_ns)).collect();
            let bounds = period_ns * 3 / 4..=period_ns * 5 / 4;
            assert!(intervals.iter().all(|interval| bounds.contains(interval)));
            let mean = intervals.iter().sum::<u64>() / 10_000;
            assert!(mean.abs_diff(period_ns) < period_ns / 100, "{mean}");
            let low = intervals.iter().filter(|&&interval| interval < period_ns * 4 / 5).count();
            assert!((500..1500).contains(&low), "{low} of 10 000 in the lowest tenth");
        }
    }

    #[test]
    fn lateness_is_made_up_for_once() {
        let mut pace = Pace::new(7);
        let next_ns = pace.next_ns(1000, 1010, 400);
        assert!((1300..=1500).contains(&next_ns), "counts from when it was due");
        let next_ns = pace.next_ns(1000, 9000, 400);
        assert!((9300..=9500).contains(&next_ns), "what was missed is missed");
    }
}
