//! How far waits that were charged to holders may be off.
//!
//! Not every release is charged, but those that come at random moments, exponentially
//! distributed with a mean of `a`, each with the time since the one before (see *blame* in
//! `docs/event-log.md`). So it is partly chance whose release that is. If holds take `h`,
//! of which a share of `p` is one holder's, the next `n` releases after a charge are not
//! charged with the probability `qⁿ (1 − q)`, where `q = e^(−h÷a)`, and their time `n h` is
//! another one's. Added up over a time `t`, this has the variance
//! `2 t p (1 − p) h ÷ (e^(h÷a) − 1)`: that of `2 a²` for each look where holds are short,
//! and next to nothing where they are long, since each of them is charged then.
//!
//! All who wait are charged at once. With `w` waiters and `x`, what a holder was charged in
//! all, `x = w t p`, and the variance is `2 w x (1 − p) h ÷ (e^(h÷a) − 1)`. `w` is at most the
//! number of threads that ever waited there, so the result is rather too large.

use crate::Findings;
use std::collections::{BTreeMap, HashSet};
use tyrion_wire::cell::{BUCKETS, bucket_floor_ns};

/// How long it is on average from one look to the next, in ns, unless the log says so.
const LOOK_NS: u64 = 50_000;
/// Where more threads wait, looks are rarer in proportion: the agent's `USUAL_WAITERS`.
const USUAL_WAITERS: usize = 64;
/// As for all estimates: 95 % of them are not further off.
const ERRORS: f64 = 2.0;

/// What is known of each lock group's charges.
#[derive(Debug, Default)]
pub(super) struct Chances {
    look_ns: f64,
    groups: BTreeMap<u32, Group>,
}

#[derive(Debug)]
struct Group {
    charged_ns: u64,
    waiters: HashSet<u32>,
    /// Measured holds by duration.
    holds: [u64; BUCKETS],
}

impl Group {
    /// `h ÷ (e^(h÷a) − 1)` for the holds there are, as often as they are met, in ns.
    fn by_chance_ns(&self, look_ns: f64) -> f64 {
        let (mut sum, mut time) = (0.0, 0.0);
        for (bucket, &holds) in self.holds.iter().enumerate().filter(|(_, holds)| **holds != 0) {
            let hold_ns = 1.5 * bucket_floor_ns(bucket).max(1) as f64;
            sum += holds as f64 * hold_ns * (hold_ns / (hold_ns / look_ns).exp_m1());
            time += holds as f64 * hold_ns;
        }
        // Where no hold was measured they may be short.
        if time == 0.0 { look_ns } else { sum / time }
    }
}

impl Default for Group {
    fn default() -> Group {
        Group { charged_ns: 0, waiters: HashSet::new(), holds: [0; BUCKETS] }
    }
}

impl Chances {
    /// Those of waits that the agent has charged.
    pub(super) fn of(findings: &Findings<'_>) -> Chances {
        let profile = findings.profile();
        let look_ns = |log: &tyrion_formats::Recording| {
            log.statistics().get("blame.look_ns").copied().unwrap_or(LOOK_NS)
        };
        let look_ns = findings.logs.iter().map(look_ns).max().unwrap_or(LOOK_NS);
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let group_of = |lock| findings.groups.of(lock);
        for blame in profile.blames.iter().filter(|blame| findings.shows(blame.kind)) {
            let of = groups.entry(group_of(blame.lock)).or_default();
            of.charged_ns = of.charged_ns.saturating_add(blame.blamed_ns);
        }
        for wait in &profile.waits {
            groups.entry(group_of(wait.lock)).or_default().waiters.insert(wait.thread);
        }
        for section in &profile.sections {
            let of = groups.entry(group_of(section.lock)).or_default();
            for (sum, &holds) in of.holds.iter_mut().zip(&section.histogram) {
                *sum = sum.saturating_add(holds);
            }
        }
        Chances { look_ns: look_ns as f64, groups }
    }

    /// The variance of what one holder was charged for locks of a group, in ns².
    pub(super) fn variance(&self, group: u32, charged_ns: u64) -> f64 {
        let Some(of) = self.groups.get(&group).filter(|of| of.charged_ns != 0) else {
            return 0.0;
        };
        let waiters = of.waiters.len().max(1);
        let look_ns = self.look_ns * (waiters / USUAL_WAITERS).max(1) as f64;
        let share = (charged_ns as f64 / of.charged_ns as f64).min(1.0);
        let others = charged_ns as f64 * (1.0 - share);
        2.0 * waiters as f64 * others * of.by_chance_ns(look_ns)
    }
}

/// How far a duration of that variance may be off, in ns, for 95 % of such estimates.
pub(super) fn error_ns(variance: f64, charged_ns: u64) -> u64 {
    ((ERRORS * variance.max(0.0).sqrt()) as u64).min(charged_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_wire::cell::bucket;

    fn chances(waiters: u32, hold_ns: u64) -> Chances {
        let charged_ns = 1_000_000_000;
        let waiters = (0..waiters).collect();
        let mut holds = [0; BUCKETS];
        holds[bucket(hold_ns)] = u64::from(hold_ns != 0);
        let group = Group { charged_ns, waiters, holds };
        Chances { look_ns: 50_000.0, groups: BTreeMap::from([(7, group)]) }
    }

    /// xorshift64, as a number from 0 to 1.
    fn uniform(random: &mut u64) -> f64 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What one holder is charged of a second in which one thread waits, if it holds the
    /// lock for a share of that time, in holds of this length.
    fn charged_ns(random: &mut u64, hold_ns: f64, share: f64) -> f64 {
        let (mut now, mut charged, mut of_first) = (0.0, 0.0, 0.0);
        let mut due = -(1.0 - uniform(random)).ln() * 50_000.0;
        while now < 1e9 {
            now += hold_ns;
            let is_first = uniform(random) < share;
            if now >= due {
                of_first += if is_first { now - charged } else { 0.0 };
                charged = now;
                due = now - (1.0 - uniform(random)).ln() * 50_000.0;
            }
        }
        of_first
    }

    #[test]
    fn charges_are_as_far_off_as_they_say() {
        let random = &mut 1_u64;
        for (hold_ns, share) in [(1_536, 0.5), (1_536, 0.1), (49_152, 0.3), (196_608, 0.3)] {
            let chances = chances(1, hold_ns);
            let hold = hold_ns as f64;
            let (mut within, mut stated, mut real, runs) = (0, 0.0, 0.0, 200);
            for _ in 0..runs {
                // What it held is chance, too: it is known from the same draws.
                let begun = *random;
                let told_ns = charged_ns(random, hold, share);
                let off_ns = (told_ns - held_ns(begun, hold, share)).abs();
                let error = error_ns(chances.variance(7, told_ns as u64), told_ns as u64) as f64;
                within += usize::from(off_ns <= error);
                (stated, real) = (stated + error * error, real + off_ns * off_ns);
            }
            let wide = (stated / real).sqrt() / ERRORS;
            assert!(within * 10 >= runs * 9, "{hold_ns} {share}: {within} of {runs}");
            assert!(wide < 2.0, "{hold_ns} {share}: {wide} times what it is");
        }
    }

    /// What it really held, with the same random numbers.
    fn held_ns(begun: u64, hold_ns: f64, share: f64) -> f64 {
        let random = &mut begun.clone();
        let (mut now, mut held) = (0.0, 0.0);
        let mut due = -(1.0 - uniform(random)).ln() * 50_000.0;
        while now < 1e9 {
            now += hold_ns;
            held += if uniform(random) < share { hold_ns } else { 0.0 };
            if now >= due {
                due = now - (1.0 - uniform(random)).ln() * 50_000.0;
            }
        }
        held
    }

    #[test]
    fn more_waiters_and_short_holds_make_it_uncertain() {
        let error = |chances: &Chances, ns| error_ns(chances.variance(7, ns), ns);
        let one = error(&chances(1, 0), 500_000_000);
        assert_eq!(one, 10_000_000);
        assert_eq!(error(&chances(4, 0), 500_000_000), 2 * one);
        assert!(error(&chances(1, 49_152), 500_000_000) < one);
        assert!(error(&chances(1, 1 << 20), 500_000_000) < one / 1_000);
        // Only one holder; or none at all.
        assert_eq!(error(&chances(4, 0), 1_000_000_000), 0);
        assert_eq!(chances(4, 0).variance(8, 1_000), 0.0);
        assert_eq!(error_ns(f64::INFINITY, 5), 5);
    }
}
