//! How far waits that were charged to holders may be off.
//!
//! Not every release is looked at, but those that come at random moments, exponentially
//! distributed with a mean of `a` (see *blame* in `docs/event-log.md`): the one that is
//! looked at is charged what it held the lock for, and one of those before it, as likely
//! as its hold was long, all that came before. (The one just before it gets its own time,
//! too, so this is rather too much.) So it is partly chance who is charged. If holds take `h`, and a share `p` of them
//! is one holder's, `n` releases are not looked at between two looks with the probability
//! `qⁿ (1 − q)`, where `q = e^(−h÷a)`, and what is charged to another one than held the
//! lock is less than `(n − 1) h`. Over a time `t` that would have the variance
//! `2 t p (1 − p) h ÷ (e^(h÷a) (e^(h÷a) − 1))`: that of `2 a² p (1 − p)` for each look where
//! holds are short, and next to nothing where they are long, since each is looked at then.
//!
//! All who wait are charged at once. With `w` waiters, a holder is charged `x = w t p` in
//! all, and the variance is `w x (1 − p)` times the rest. That is an upper bound here: `w`
//! is taken to be the number of threads that ever waited for one lock; holds that are not
//! known, as with `--since`, to be short; and waits to be long, though the end of a wait is
//! a look, too. `p` is a holder's share of what the same waiters were charged. Holds are
//! taken to follow each other without rule.

use super::{super::estimate::ERRORS, ByCode, ByThreads};
use crate::Findings;
use std::collections::{BTreeMap, HashSet};
use tyrion_formats::Recording;
use tyrion_wire::{
    cell::{BUCKETS, bucket_floor_ns},
    trace::{LOOK_NS, USUAL_WAITERS},
};

/// The longest time between looks that a log is believed, in ns.
const MOST_LOOK_NS: u64 = 1_000_000_000;

/// What is known of a lock group.
#[derive(Debug, Default)]
struct Group {
    /// By lock.
    waiters: BTreeMap<u32, HashSet<u32>>,
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
        let all: f64 = measured.iter().map(|&count| count as f64).sum();
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
        2.0 * waiters as f64 * self.holds.by_chance_ns(look_ns)
    }
}

/// What is known of each lock group's charges.
#[derive(Debug, Default)]
pub(super) struct Chances {
    /// See [`Group::variance`].
    variances: BTreeMap<u32, f64>,
    /// What all holders are charged together, by who waited: a group of threads, or a place.
    of_threads: ByWaiter,
    of_places: ByWaiter,
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
        for ((waiters, _), pair) in threads {
            for (&(group, _), &(_, wait_ns)) in &pair.locks {
                add(&mut chances.of_threads, (group, waiters), wait_ns);
            }
        }
        for ((waiter, _, group, _), charges) in code {
            add(&mut chances.of_places, (*group, waiter), charges.wait_ns());
        }
        Some(chances)
    }

    /// The variance of what a group of threads is charged for a lock group, in ns²: for
    /// waits of these threads, the kinds of locks added up. It is `wait_ns` for one of them.
    pub(super) fn of_threads(&self, (group, waiters): (u32, &str), own: Own) -> f64 {
        self.variance(group, charged_ns(&self.of_threads, group, waiters), own)
    }

    /// The same of what code is charged for waits at this place.
    pub(super) fn of_place(&self, (group, waiter): (u32, &str), own: Own) -> f64 {
        self.variance(group, charged_ns(&self.of_places, group, waiter), own)
    }

    fn variance(&self, group: u32, all_ns: f64, own: Own) -> f64 {
        let share = if all_ns > 0.0 { own.holder_ns as f64 / all_ns } else { 1.0 };
        let each = self.variances.get(&group).copied().unwrap_or(0.0);
        each * own.wait_ns as f64 * (1.0 - share.min(1.0))
    }
}

/// What one holder is charged.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// For these waiters and this lock group.
    pub(super) holder_ns: u64,
    /// How much of it this is about.
    pub(super) wait_ns: u64,
}

type ByWaiter = BTreeMap<u32, BTreeMap<String, f64>>;

fn add(sums: &mut ByWaiter, (group, waiter): (u32, &str), wait_ns: u64) {
    let sums = sums.entry(group).or_default();
    match sums.get_mut(waiter) {
        Some(sum) => *sum += wait_ns as f64,
        None => _ = sums.insert(waiter.to_owned(), wait_ns as f64),
    }
}

fn charged_ns(sums: &ByWaiter, group: u32, waiter: &str) -> f64 {
    sums.get(&group).and_then(|sums| sums.get(waiter)).copied().unwrap_or(0.0)
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

    /// A group whose threads wait for one lock that is held so long.
    fn group(waiters: u32, holds: &[u64]) -> Group {
        let mut measured = [0; BUCKETS];
        holds.iter().for_each(|&ns| measured[bucket(ns)] += 1);
        let mut group = Group::default();
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
        let (mut chosen, mut last): (bool, Option<(f64, bool)>) = (false, None);
        while now < 1e8 {
            let (hold_ns, is_own) = next(random);
            now += hold_ns;
            held += if is_own { hold_ns } else { 0.0 };
            if now >= due {
                let (last_ns, is_last) = last.take().unwrap_or_default();
                told += if chosen { now - hold_ns - last_ns - looked } else { 0.0 };
                told += if is_last { last_ns } else { 0.0 };
                told += if is_own { hold_ns } else { 0.0 };
                (looked, due) = (now, now + after(random));
                continue;
            }
            if let Some((last_ns, is_last)) = last.replace((hold_ns, is_own)) {
                // Up to when that had it.
                if uniform(random) * (now - hold_ns - looked) < last_ns {
                    chosen = is_last;
                }
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
            assert!((0.8..2.0).contains(&wide), "{hold_ns} {share}: {wide} times what it is");
        }
    }

    /// Whatever the order of long and short holds: nobody gets another one's time, but by
    /// chance, and that is what is said.
    #[test]
    fn long_and_short_holds_get_what_is_theirs() {
        let random = &mut 1_u64;
        type Next = fn(u32, f64) -> (u64, bool);
        let by_chance: Next =
            |_, random| if random < 0.5 { (2_000, true) } else { (20_000, false) };
        let in_turn: Next = |nth, _| if nth % 2 == 0 { (2_000, true) } else { (20_000, false) };
        let many: Next = |nth, _| if nth % 26 == 0 { (50_000, false) } else { (2_000, true) };
        let longer: Next = |nth, _| if nth % 26 == 0 { (200_000, false) } else { (2_000, true) };
        for (which, holds) in [by_chance, in_turn, many, longer].into_iter().enumerate() {
            let lengths: Vec<u64> = (0..52).map(|nth| holds(nth, f64::from(nth % 2)).0).collect();
            let each = group(1, &lengths).variance(LOOK);
            let (mut all_told, mut all_held, mut within, runs) = (0.0, 0.0, 0, 100);
            for _ in 0..runs {
                let mut nth = 0;
                let (told, held) = charged(random, |random| {
                    nth += 1;
                    let (hold_ns, is_own) = holds(nth, uniform(random));
                    (hold_ns as f64, is_own)
                });
                let variance = each * told * (1.0 - told / 1e8);
                within += usize::from((told - held).abs() <= error_ns(variance, u64::MAX) as f64);
                (all_told, all_held) = (all_told + told, all_held + held);
            }
            let ratio = all_told / all_held;
            assert!((0.95..1.07).contains(&ratio), "{which}: {ratio}");
            assert!(within >= 90, "{which}: {within} of {runs}");
        }
    }

    #[test]
    fn more_waiters_and_short_holds_make_it_uncertain() {
        let error = |group: &Group| error_ns(group.variance(LOOK) * 250e6, u64::MAX);
        let one = error(&group(1, &[]));
        assert!((9_999_000..=10_000_000).contains(&one), "{one}");
        assert!(error(&group(4, &[])).abs_diff(2 * one) < 3);
        assert!(error(&group(1, &[49_152])) < one * 4 / 5);
        assert!(error(&group(1, &[1 << 20])) < one / 1_000);
        // Ten times as many short holds are a ten thousandth of the time.
        let mixed = group(1, &[[1_000; 10].as_slice(), &[100_000_000]].concat());
        assert!(error(&mixed) < one / 50);
        assert_eq!(error_ns(f64::INFINITY, 5), 5);
        assert_eq!(error_ns(f64::NAN, 5), 0);
    }

    #[test]
    fn one_holder_is_certain_however_many_wait() {
        let mut chances =
            Chances { variances: BTreeMap::from([(7, 1_000.0)]), ..Chances::default() };
        add(&mut chances.of_threads, (7, "http-*"), 500);
        add(&mut chances.of_threads, (7, "http-*"), 300);
        add(&mut chances.of_places, (7, "a.Cache.get"), 400);
        let of = |holder_ns, wait_ns| Own { holder_ns, wait_ns };
        assert_eq!(chances.of_threads((7, "http-*"), of(800, 300)), 0.0);
        assert_eq!(chances.of_threads((7, "http-*"), of(200, 100)), 75_000.0);
        assert_eq!(chances.of_place((7, "a.Cache.get"), of(100, 100)), 75_000.0);
        assert_eq!(chances.of_threads((8, "http-*"), of(300, 300)), 0.0);
    }
}
