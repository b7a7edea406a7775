//! How far waits that were charged to holders may be off.
//!
//! Not every release is looked at, but those that come at random moments, exponentially
//! distributed with a mean of `a` (see *blame* in `docs/event-log.md`): the one that is
//! looked at is charged what it held the lock for, and the one before it all that came
//! before. So it is partly chance who is charged. If holds take `h`, and a share `p` of them
//! is one holder's, `n` releases are not looked at between two looks with the probability
//! `qⁿ (1 − q)`, where `q = e^(−h÷a)`, and what is charged to another one than held the
//! lock is `(n − 1) h`. Over a time `t` this has the variance
//! `2 t p (1 − p) h ÷ (e^(h÷a) (e^(h÷a) − 1))`: that of `2 a² p (1 − p)` for each look where
//! holds are short, and next to nothing where they are long, since each is looked at then.
//!
//! All who wait are charged at once. With `w` waiters, a holder is charged `x = w t p` in
//! all, and the variance is `w x (1 − p)` times the rest. That is an upper bound here: `w`
//! is taken to be the number of threads that ever waited for one lock, and holds that are
//! not known, as with `--since`, to be short. Holds are taken to follow each other without
//! rule; where they do not, a long hold still gets its own time.

use super::{
    super::estimate::{ERRORS, Moments},
    ByCode, ByThreads, Holder,
};
use crate::Findings;
use std::collections::{BTreeMap, HashSet};
use tyrion_formats::Recording;
use tyrion_wire::{
    cell::{BUCKETS, bucket_floor_ns},
    trace::{LOOK_NS, USUAL_WAITERS},
};

/// The longest time between looks that a log is believed, in ns.
const MOST_LOOK_NS: u64 = 1_000_000_000;

/// By lock group: its waiters by lock, and how many waits there were, and how long.
#[derive(Debug, Default)]
struct Group {
    waiters: BTreeMap<u32, HashSet<u32>>,
    waits: u64,
    wait_ns: u64,
    /// Holds by duration, as many as there were.
    holds: Holds,
}

#[derive(Debug)]
struct Holds([f64; BUCKETS]);

impl Default for Holds {
    fn default() -> Holds {
        Holds([0.0; BUCKETS])
    }
}

impl Holds {
    /// Of so many acquisitions, some were measured.
    fn add(&mut self, acquisitions: u64, measured: &[u64; BUCKETS]) {
        let all = Moments::of(measured).count();
        if all != 0.0 {
            let each = acquisitions as f64 / all;
            for (sum, &count) in self.0.iter_mut().zip(measured) {
                *sum += each * count as f64;
            }
        }
    }

    /// `h ÷ (e^(h÷a) (e^(h÷a) − 1))` for these holds, as often as they are met, in ns.
    fn by_chance_ns(&self, look_ns: f64) -> f64 {
        let (mut sum, mut time) = (0.0, 0.0);
        for (bucket, &holds) in self.0.iter().enumerate().filter(|(_, holds)| **holds != 0.0) {
            let hold_ns = 1.5 * bucket_floor_ns(bucket).max(1) as f64;
            let looks = hold_ns / look_ns;
            sum += holds * hold_ns * hold_ns / looks.exp_m1() / looks.exp();
            time += holds * hold_ns;
        }
        // Where no hold was measured they may be short.
        if time == 0.0 { look_ns } else { sum / time }
    }
}

impl Group {
    /// The variance of what a holder with next to no share is charged, per ns of it, in ns.
    fn variance(&self, look_ns: f64) -> f64 {
        let waiters = self.waiters.values().map(HashSet::len).max().unwrap_or(0).max(1);
        let look_ns = look_ns * (waiters / USUAL_WAITERS).max(1) as f64;
        let mean_wait_ns = self.wait_ns as f64 / self.waits.max(1) as f64;
        // A wait's end is a look, too.
        let look_ns = look_ns * mean_wait_ns / (look_ns + mean_wait_ns);
        if look_ns > 0.0 { 2.0 * waiters as f64 * self.holds.by_chance_ns(look_ns) } else { 0.0 }
    }
}

/// What is known of each lock group's charges.
#[derive(Debug, Default)]
pub(super) struct Chances {
    /// See [`Group::variance`].
    variances: BTreeMap<u32, f64>,
    charged_ns: BTreeMap<u32, f64>,
    /// What each holder is charged, by group of threads and by place.
    by_threads: BTreeMap<(u32, String), f64>,
    by_place: BTreeMap<(u32, Holder), f64>,
}

impl Chances {
    /// Those of waits that the agent has charged. `None` where only some threads are looked
    /// at: then it is not known what others were charged.
    pub(super) fn of(
        findings: &Findings<'_>,
        threads: &ByThreads,
        code: &ByCode,
    ) -> Option<Chances> {
        if findings.filter.thread.is_some() {
            return None;
        }
        let look_ns = findings.logs.iter().filter(|log| log.is_trace()).map(look_ns).max();
        let look_ns = look_ns.unwrap_or(LOOK_NS) as f64;
        let groups = groups(findings);
        let variances = groups.iter().map(|(&id, group)| (id, group.variance(look_ns))).collect();
        let mut chances = Chances { variances, ..Chances::default() };
        for ((_, holders), pair) in threads {
            for (&(group, _), &(_, wait_ns)) in &pair.locks {
                let wait_ns = wait_ns as f64;
                *chances.charged_ns.entry(group).or_default() += wait_ns;
                *chances.by_threads.entry((group, holders.clone())).or_default() += wait_ns;
            }
        }
        for ((_, holder, group, _), charges) in code {
            let key = (*group, holder.clone());
            *chances.by_place.entry(key).or_default() += charges.wait_ns() as f64;
        }
        Some(chances)
    }

    /// The variance of a part of what a group of threads was charged for a lock group, in
    /// ns².
    pub(super) fn of_threads(&self, group: u32, holders: &str, wait_ns: u64) -> f64 {
        let own_ns = self.by_threads.get(&(group, holders.to_owned()));
        self.variance(group, own_ns, wait_ns)
    }

    /// The same of what code was charged.
    pub(super) fn of_place(&self, group: u32, holder: &Holder, wait_ns: u64) -> f64 {
        self.variance(group, self.by_place.get(&(group, holder.clone())), wait_ns)
    }

    fn variance(&self, group: u32, own_ns: Option<&f64>, wait_ns: u64) -> f64 {
        let all_ns = self.charged_ns.get(&group).copied().unwrap_or(0.0);
        let share = if all_ns > 0.0 { own_ns.copied().unwrap_or(0.0) / all_ns } else { 1.0 };
        let each = self.variances.get(&group).copied().unwrap_or(0.0);
        each * wait_ns as f64 * (1.0 - share.min(1.0))
    }
}

/// How far a duration of that variance may be off, in ns, for 95 % of such estimates.
pub(super) fn error_ns(variance: f64, charged_ns: u64) -> u64 {
    ((ERRORS * variance.max(0.0).sqrt()) as u64).min(charged_ns)
}

fn look_ns(log: &Recording) -> u64 {
    let told = log.statistics().get("blame.look_ns").copied().filter(|&ns| ns != 0);
    told.unwrap_or(LOOK_NS).min(MOST_LOOK_NS)
}

fn groups(findings: &Findings<'_>) -> BTreeMap<u32, Group> {
    let profile = findings.profile();
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let group = groups.entry(findings.groups.of(wait.lock)).or_default();
        group.waiters.entry(wait.lock).or_default().insert(wait.thread);
        group.waits = group.waits.saturating_add(wait.count);
        group.wait_ns = group.wait_ns.saturating_add(wait.wait_ns);
    }
    for section in &profile.sections {
        let group = groups.entry(findings.groups.of(section.lock)).or_default();
        group.holds.add(section.acquisitions, &section.histogram);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_wire::cell::bucket;

    const LOOK: f64 = LOOK_NS as f64;

    /// A group whose threads wait for one lock, for ever, that is held so long.
    fn group(waiters: u32, holds: &[u64]) -> Group {
        let mut measured = [0; BUCKETS];
        holds.iter().for_each(|&ns| measured[bucket(ns)] += 1);
        let mut group = Group { waits: 1, wait_ns: u64::MAX, ..Group::default() };
        group.waiters.insert(0, (0..waiters).collect());
        group.holds.add(1_000, &measured);
        group
    }

    /// xorshift64, as a number from 0 to 1.
    fn uniform(random: &mut u64) -> f64 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What one holder is charged, and what it held, of 100 ms in which one thread waits.
    /// `next` chooses holds: how long, and whether it is that holder's.
    fn charged(random: &mut u64, mut next: impl FnMut(&mut u64) -> (f64, bool)) -> (f64, f64) {
        let after = |random: &mut u64| -(1.0 - uniform(random)).ln() * LOOK;
        let (mut now, mut looked, mut told, mut held) = (0.0, 0.0, 0.0, 0.0);
        let mut due = after(random);
        let (mut released, mut by) = (0.0, false);
        while now < 1e8 {
            let (hold_ns, is_own) = next(random);
            now += hold_ns;
            held += if is_own { hold_ns } else { 0.0 };
            if now >= due {
                let before = f64::max(released - looked, 0.0);
                told += if by { before } else { 0.0 };
                told += if is_own { now - looked - before } else { 0.0 };
                (looked, due) = (now, now + after(random));
            } else {
                (released, by) = (now, is_own);
            }
        }
        (told, held)
    }

    #[test]
    fn charges_are_as_far_off_as_they_say() {
        let random = &mut 1_u64;
        for (hold_ns, share) in [(1_536, 0.5), (1_536, 0.1), (49_152, 0.3)] {
            let each = group(1, &[hold_ns]).variance(LOOK);
            let (mut within, mut stated, mut real, runs) = (0, 0.0, 0.0, 200);
            for _ in 0..runs {
                let next = |random: &mut u64| (hold_ns as f64, uniform(random) < share);
                let (told, held) = charged(random, next);
                let variance = each * told * (1.0 - share);
                within += usize::from((told - held).abs() <= error_ns(variance, u64::MAX) as f64);
                (stated, real) = (stated + variance, real + (told - held).powi(2));
            }
            assert!(within * 100 >= runs * 92, "{hold_ns} {share}: {within} of {runs}");
            let wide = (stated / real).sqrt();
            assert!((0.8..1.3).contains(&wide), "{hold_ns} {share}: {wide} times what it is");
        }
    }

    /// Many short holds, and then a long one of somebody else, again and again: that does
    /// not get the time of the short ones, and these little of its own, when no look falls
    /// into it.
    #[test]
    fn long_holds_are_not_charged_what_went_before() {
        let random = &mut 1_u64;
        let (mut told, mut held) = (0.0, 0.0);
        for _ in 0..50 {
            let mut nth = 0;
            let next = |_: &mut u64| {
                nth += 1;
                if nth % 26 == 0 { (200_000.0, false) } else { (2_000.0, true) }
            };
            let sums = charged(random, next);
            (told, held) = (told + sums.0, held + sums.1);
        }
        assert!((1.0..1.1).contains(&(told / held)), "{told} of {held}");
    }

    #[test]
    fn more_waiters_and_short_holds_make_it_uncertain() {
        let error = |group: &Group| error_ns(group.variance(LOOK) * 250e6, u64::MAX);
        let one = error(&group(1, &[]));
        assert!((9_999_000..=10_000_000).contains(&one), "{one}");
        assert!(error(&group(4, &[])).abs_diff(2 * one) < 3);
        assert!(error(&group(1, &[49_152])) < one * 2 / 3);
        assert!(error(&group(1, &[1 << 20])) < one / 1_000);
        // Ten times as many short holds are a ten thousandth of the time.
        let mixed = group(1, &[[1_000; 10].as_slice(), &[100_000_000]].concat());
        assert!(error(&mixed) < one / 50);
        // Short waits are looked at when they end.
        let short = Group { waits: 1_000, wait_ns: 1_000_000, ..group(1, &[]) };
        assert!(error(&short) < one / 5);
        assert_eq!(error(&Group { wait_ns: 0, ..group(1, &[]) }), 0);
        assert_eq!(error_ns(f64::INFINITY, 5), 5);
        assert_eq!(error_ns(f64::NAN, 5), 0);
    }

    #[test]
    fn one_holder_is_certain_however_many_wait() {
        let holder = Holder::Threads("writer".to_owned());
        let chances = Chances {
            variances: BTreeMap::from([(7, 1_000.0)]),
            charged_ns: BTreeMap::from([(7, 800.0)]),
            by_threads: BTreeMap::from([((7, "writer".to_owned()), 800.0)]),
            by_place: BTreeMap::from([((7, holder.clone()), 200.0)]),
        };
        assert_eq!(chances.of_threads(7, "writer", 300), 0.0);
        assert_eq!(chances.of_place(7, &holder, 100), 75_000.0);
        assert_eq!(chances.of_threads(8, "writer", 300), 0.0);
    }
}
