//! How far waits that were charged to holders may be off.
//!
//! Not every release is looked at, but those that come at random moments, exponentially
//! distributed with a mean of `a` (see *blame* in `docs/event-log.md`): the one that is
//! looked at is charged what it held the lock for. The time before
//! is charged to who held it at a random moment of its first half, and of its second. So it
//! is partly chance who is charged. If holds are short and a share `p` of them is one
//! holder's, what that one is charged has the variance `a² p (1 − p)` for each look, and
//! `t p (1 − p) a` over a time `t`. Where holds are long it is less: each is looked at then.
//!
//! All who wait are charged at once: with `w` waiters, a holder is charged `x = w t p` in
//! all. The moments are chosen for each waiter by itself. But of times that are long ago
//! the agent only knows who held the lock at some moments, the same ones for all waiters:
//! they are `a ÷ 4` apart, or at most a seventh of the time between two looks. So the
//! variance is at most `(1 + w ÷ 3) a x (1 − p)`. That is rather too much: `w` is taken to
//! be the number of threads whose waits for one lock ended in the time that is looked at;
//! all holds to be short; and waits to be long, though the end of a wait is a look, too.
//! `p` is a holder's share of what the same waiters were charged. Holds are taken to
//! follow each other without rule.

use super::{super::estimate::ERRORS, ByCode, ByThreads};
use crate::Findings;
use std::collections::{BTreeMap, HashSet};
use tyrion_formats::Recording;
use tyrion_wire::trace::{LOOK_NS, USUAL_WAITERS};

/// The longest time between looks that a log is believed, in ns.
const MOST_LOOK_NS: u64 = 1_000_000_000;

/// The threads that waited for the locks of a group, by lock.
type Waiters = BTreeMap<u32, HashSet<u32>>;

/// The variance of what a holder with next to no share is charged, per ns of it, in ns, where so
/// many wait.
fn variance(waiters: usize, look_ns: f64) -> f64 {
    let waiters = waiters.max(1);
    let look_ns = look_ns * (waiters / USUAL_WAITERS).max(1) as f64;
    (1.0 + waiters as f64 / 3.0) * look_ns
}

/// What is known of each lock group's charges.
#[derive(Debug, Default)]
pub(super) struct Chances {
    /// See [`variance`].
    variances: BTreeMap<u32, f64>,
    /// That of a group of which nothing else is known.
    unknown: f64,
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
        let most = |waiters: &Waiters| waiters.values().map(HashSet::len).max().unwrap_or(0);
        let groups = groups(findings);
        let variances =
            groups.iter().map(|(&id, waiters)| (id, variance(most(waiters), look_ns))).collect();
        // Of a group whose waits have all ended at another time, only the charges are known.
        let unknown = variance(groups.values().map(most).max().unwrap_or(0), look_ns);
        let mut chances = Chances { variances, unknown, ..Chances::default() };
        for ((waiters, _), pair) in threads {
            for (&(group, _), &(_, wait_ns)) in &pair.locks {
                add(&mut chances.of_threads, group, waiters, wait_ns);
            }
        }
        for (key, charges) in code {
            add(&mut chances.of_places, key.group, &key.waiter, charges.wait_ns());
        }
        Some(chances)
    }

    /// The variance of what a group of threads is charged for a lock group, in ns²: for
    /// waits of these threads, the kinds of locks added up. It is `wait_ns` for one of them.
    pub(super) fn of_threads(&self, group: u32, waiters: &str, own: Own) -> f64 {
        self.variance(group, charged_ns(&self.of_threads, group, waiters), own)
    }

    /// The same of what code is charged for waits at this place.
    pub(super) fn of_place(&self, group: u32, waiter: &str, own: Own) -> f64 {
        self.variance(group, charged_ns(&self.of_places, group, waiter), own)
    }

    fn variance(&self, group: u32, all_ns: f64, own: Own) -> f64 {
        let share = if all_ns > 0.0 { own.holder_ns as f64 / all_ns } else { 1.0 };
        let each = self.variances.get(&group).copied().unwrap_or(self.unknown);
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

fn add(sums: &mut ByWaiter, group: u32, waiter: &str, wait_ns: u64) {
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

fn groups(findings: &Findings<'_>) -> BTreeMap<u32, Waiters> {
    let mut groups: BTreeMap<u32, Waiters> = BTreeMap::new();
    for wait in findings.profile().waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let group = groups.entry(findings.groups.of(wait.lock)).or_default();
        group.entry(wait.lock).or_default().insert(wait.thread);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: f64 = LOOK_NS as f64;

    /// xorshift64, as a number from 0 to 1.
    fn uniform(random: &mut u64) -> f64 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What one holder is charged, and what it held, of 100 ms in which threads wait for the
    /// lock all the time. `next` chooses holds: how long, and whether it is that holder's.
    fn charged(
        random: &mut u64,
        waiters: usize,
        mut next: impl FnMut(&mut u64) -> (f64, bool),
    ) -> (f64, f64) {
        let after = |random: &mut u64| -(1.0 - uniform(random)).ln() * LOOK;
        let (mut now, mut looked, mut told, mut held) = (0.0, 0.0, 0.0, 0.0);
        let mut due = after(random);
        // When each hold ended that was not looked at.
        let mut holds: Vec<(f64, bool)> = Vec::new();
        while now < 1e8 {
            let (hold_ns, is_own) = next(random);
            now += hold_ns;
            held += if is_own { hold_ns * waiters as f64 } else { 0.0 };
            holds.push((now, is_own));
            if now < due {
                continue;
            }
            // This one is charged its own time.
            let begun = now - hold_ns;
            told += if is_own { hold_ns * waiters as f64 } else { 0.0 };
            let half = (begun - looked) / 2.0;
            // Before the last 16 the holder is known at some moments only.
            let known_since = holds[holds.len().saturating_sub(16)].0;
            let every = 12_553.0;
            for start in [looked, looked + half].repeat(waiters) {
                let mut moment = start + half * uniform(random);
                let nearest = (moment / every).round() * every;
                if moment < known_since && nearest > looked && nearest < known_since {
                    moment = nearest;
                }
                let holder = holds.iter().find(|&&(end, _)| end >= moment);
                told += if holder.is_some_and(|&(_, is_own)| is_own) { half } else { 0.0 };
            }
            holds.clear();
            (looked, due) = (now, now + after(random));
        }
        (told, held)
    }

    #[test]
    fn charges_are_not_further_off_than_they_say() {
        let random = &mut 1_u64;
        let cases =
            [(1, 200, 0.5), (1, 1_500, 0.5), (1, 1_500, 0.1), (8, 1_500, 0.3), (40, 1_500, 0.5)];
        for (waiters, hold_ns, share) in cases {
            let each = variance(waiters, LOOK);
            let (mut within, mut stated, mut real, runs) = (0, 0.0, 0.0, 200);
            for _ in 0..runs {
                let next = |random: &mut u64| (f64::from(hold_ns), uniform(random) < share);
                let (told, held) = charged(random, waiters, next);
                let variance = each * told * (1.0 - share);
                within += usize::from((told - held).abs() <= error_ns(variance, u64::MAX) as f64);
                (stated, real) = (stated + variance, real + (told - held).powi(2));
            }
            assert!(within * 100 >= runs * 94, "{waiters} {hold_ns} {share}: {within} of {runs}");
            let wide = (stated / real).sqrt();
            assert!((1.0..2.0).contains(&wide), "{hold_ns} {share}: {wide} times what it is");
        }
    }

    /// Whatever the order of long and short holds: nobody gets another one's time, but by
    /// chance, and that is what is said. The last one is of three holders, two of which are
    /// short beside the third.
    #[test]
    fn long_and_short_holds_get_what_is_theirs() {
        let random = &mut 1_u64;
        type Next = fn(u32, f64) -> (u64, bool);
        let by_chance: Next =
            |_, random| if random < 0.5 { (2_000, true) } else { (20_000, false) };
        let in_turn: Next = |nth, _| if nth % 2 == 0 { (2_000, true) } else { (20_000, false) };
        let many: Next = |nth, _| if nth % 26 == 0 { (50_000, false) } else { (2_000, true) };
        let longer: Next = |nth, _| if nth % 26 == 0 { (200_000, false) } else { (2_000, true) };
        let three: Next = |nth, random| match nth % 100 {
            0 => (5_000_000, false),
            _ => (1_000, random < 0.5),
        };
        for (which, holds) in [by_chance, in_turn, many, longer, three].into_iter().enumerate() {
            let each = variance(1, LOOK);
            let (mut all_told, mut all_held, mut within, runs) = (0.0, 0.0, 0, 100);
            for _ in 0..runs {
                let mut nth = 0;
                let (told, held) = charged(random, 1, |random| {
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
    fn more_waiters_make_it_uncertain() {
        let error = |waiters| error_ns(variance(waiters, LOOK) * 250e6, u64::MAX);
        // 2 √(4 ÷ 3 · 50 µs · 0.25 s)
        assert_eq!(error(1), 8_164_965);
        assert_eq!(error(0), error(1));
        // 2 √((1 + 128 ÷ 3) · 100 µs · 0.25 s)
        assert_eq!(error(128), 66_080_758);
        assert_eq!(error_ns(f64::INFINITY, 5), 5);
        assert_eq!(error_ns(f64::NAN, 5), 0);
    }

    #[test]
    fn one_holder_is_certain_however_many_wait() {
        let mut chances = Chances {
            variances: BTreeMap::from([(7, 1_000.0)]),
            unknown: 9.0,
            ..Chances::default()
        };
        add(&mut chances.of_threads, 7, "http-*", 500);
        add(&mut chances.of_threads, 7, "http-*", 300);
        add(&mut chances.of_places, 7, "a.Cache.get", 400);
        let of = |holder_ns, wait_ns| Own { holder_ns, wait_ns };
        assert_eq!(chances.of_threads(7, "http-*", of(800, 300)), 0.0);
        assert_eq!(chances.of_threads(7, "http-*", of(200, 100)), 75_000.0);
        assert_eq!(chances.of_place(7, "a.Cache.get", of(100, 100)), 75_000.0);
        assert_eq!(chances.of_threads(8, "http-*", of(300, 300)), 0.0);
        // No wait for this lock has ended in the time that is looked at.
        add(&mut chances.of_threads, 8, "http-*", 600);
        assert_eq!(chances.of_threads(8, "http-*", of(300, 300)), 9.0 * 150.0);
    }
}
