//! When to look at owners: as often as the budget allows.

use crate::{clock, random};
use std::time::Duration;

/// The mean time between two looks that are paid for, ns.
const PERIOD_NS: u64 = 10_000_000;
/// Nothing is paid back for longer than this, ns.
const MOST_PAUSE_NS: u64 = 10_000_000_000;
/// No more than this is saved, ns: a program that has not waited for long is not looked at
/// all the more often.
const MOST_SAVED_NS: i64 = 20_000_000;
/// A look stands for this at most, ns: before that, nobody may have waited.
const MOST_SPAN_NS: u64 = 20_000_000_000;
/// One part in so many of the time may be spent.
const SHARE: u64 = 200;

/// When to look next. What may be spent is saved up, and spent by looks: an expensive one,
/// which had to read the code of methods for example, is paid back before the next.
pub(super) struct Pace {
    looked_ns: u64,
    process_cpu_ns: u64,
    /// What is left of the budget, ns: of CPU time, and of time where others wait for a
    /// question. Below 0 it has to be earned first.
    saved_cpu_ns: i64,
    saved_wall_ns: i64,
    /// How many processors the program keeps busy, in thousandths.
    busy: u64,
    pub(super) makes_others_wait: bool,
}

impl Pace {
    pub(super) fn new(makes_others_wait: bool) -> Pace {
        Pace {
            looked_ns: clock::now_ns(),
            process_cpu_ns: clock::process_cpu_ns(),
            saved_cpu_ns: 0,
            saved_wall_ns: 0,
            busy: 1000,
            makes_others_wait,
        }
    }

    /// How long it takes to earn what was spent, ns.
    fn debt_ns(&self) -> u64 {
        let owed = |saved: i64| saved.min(0).unsigned_abs();
        let of_cpu = owed(self.saved_cpu_ns).saturating_mul(SHARE * 1000) / self.busy.max(1);
        let of_time = if self.makes_others_wait { owed(self.saved_wall_ns) * SHARE } else { 0 };
        of_cpu.max(of_time).min(MOST_PAUSE_NS)
    }

    /// How long to wait now: what is owed, and then exponentially distributed, so that no
    /// rhythm of the program's is met again and again.
    pub(super) fn pause(&self) -> Duration {
        let number = random::number().unwrap_or(1 << 63);
        // Between 0 and 1, and neither.
        let uniform = ((number >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let factor = (-uniform.ln()).min(8.0);
        Duration::from_nanos(self.debt_ns() + (PERIOD_NS as f64 * factor) as u64)
    }

    /// A look begins: how long the one before was ago, ns.
    pub(super) fn begin(&mut self, now_ns: u64) -> u64 {
        let span_ns = now_ns.saturating_sub(self.looked_ns);
        self.looked_ns = now_ns;
        let process_cpu_ns = clock::process_cpu_ns();
        let used_ns = process_cpu_ns.saturating_sub(self.process_cpu_ns);
        self.process_cpu_ns = process_cpu_ns;
        let busy = used_ns.saturating_mul(1000) / span_ns.max(1);
        self.busy = (self.busy * 15 + busy) / 16;
        self.earn(used_ns, span_ns);
        span_ns.min(MOST_SPAN_NS)
    }

    /// The program has used so much, of CPU time and of time.
    fn earn(&mut self, cpu_ns: u64, wall_ns: u64) {
        let more =
            |saved: i64, ns: u64| saved.saturating_add_unsigned(ns / SHARE).min(MOST_SAVED_NS);
        self.saved_cpu_ns = more(self.saved_cpu_ns, cpu_ns);
        self.saved_wall_ns = more(self.saved_wall_ns, wall_ns);
    }

    /// A look has taken so much.
    pub(super) fn spend(&mut self, cpu_ns: u64, wall_ns: u64) {
        self.saved_cpu_ns = self.saved_cpu_ns.saturating_sub_unsigned(cpu_ns);
        if self.makes_others_wait {
            self.saved_wall_ns = self.saved_wall_ns.saturating_sub_unsigned(wall_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many looks of 100 µs in ten seconds of a program that keeps some processors busy.
    fn looks(busy: u64, makes_others_wait: bool, wall_ns: u64) -> u64 {
        let mut pace = Pace::new(makes_others_wait);
        pace.busy = busy;
        let (mut now_ns, mut looks) = (0, 0);
        while now_ns < 10_000_000_000 {
            let pause_ns = pace.pause().as_nanos() as u64;
            now_ns += pause_ns;
            pace.earn(pause_ns * busy / 1000, pause_ns);
            pace.spend(100_000, wall_ns);
            looks += 1;
        }
        looks
    }

    #[test]
    fn looks_keep_to_their_share() {
        // A part in 200 of ten seconds of one processor, by 100 µs.
        assert!((475..=505).contains(&looks(1000, false, 0)), "{}", looks(1000, false, 0));
        assert!((45..=51).contains(&looks(100, false, 0)), "{}", looks(100, false, 0));
        // Nor more than one in 10 ms, whatever is left.
        let many = looks(16_000, false, 0);
        assert!((900..=1100).contains(&many), "{many}");
        // Nor so many that all threads stand still for longer than that part of the time.
        let few = looks(16_000, true, 1_000_000);
        assert!((45..=51).contains(&few), "{few}");
    }

    #[test]
    fn an_expensive_look_is_paid_back() {
        let mut pace = Pace::new(false);
        pace.busy = 2000;
        pace.spend(10_000_000, 0);
        assert_eq!(pace.debt_ns(), 1_000_000_000);
        pace.earn(2_000_000_000, 1_000_000_000);
        assert_eq!(pace.debt_ns(), 0);
        pace.earn(u64::MAX, u64::MAX);
        assert_eq!(pace.saved_cpu_ns, MOST_SAVED_NS);
    }

    #[test]
    fn pauses_are_as_long_as_asked_in_the_mean() {
        let pace = Pace::new(false);
        let all: Duration = (0..10_000).map(|_| pace.pause()).sum();
        let mean_ns = all.as_nanos() as u64 / 10_000;
        assert!((9_200_000..10_800_000).contains(&mean_ns), "{mean_ns}");
    }
}
