//! Locks that threads take in turns, to wait for work: who has one waits meanwhile.

use super::cost::Guilty;
use crate::{contention::Contention, jvm::Java};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use tyrion_plan::CodeName;

/// So many holders of a lock are looked at, for so long at most: often nobody waits.
const WANTED: u32 = 16;
const LONGEST: Duration = Duration::from_secs(2);
/// If none was seen by then, none can be.
const SOON: Duration = Duration::from_millis(500);
/// Between two looks, and where others have to wait for each.
const PAUSE: Duration = Duration::from_millis(10);
const LONG_PAUSE: Duration = Duration::from_millis(50);
/// So many have to be seen at least, and so many percent of them have to wait for work.
const LEAST: u32 = 4;
const PERCENT: u32 = 75;
/// For so long it is not asked again, ns: looks are not free.
const HOLDS_FOR_NS: u64 = 60_000_000_000;

/// Those that are known.
#[derive(Default)]
pub struct Turns {
    /// Until when they are taken for it, monotonic ns, by what code calls them.
    known: BTreeMap<CodeName, u64>,
}

impl Turns {
    /// Whether a lock was one a short while ago.
    pub fn has(&self, lock: &Guilty, now_ns: u64) -> bool {
        lock.names.iter().any(|name| self.known.get(name).is_some_and(|&until| now_ns < until))
    }

    /// This lock is one.
    pub fn note(&mut self, lock: &Guilty, now_ns: u64) {
        self.known.retain(|_, until| now_ns < *until);
        let until_ns = now_ns.saturating_add(HOLDS_FOR_NS);
        self.known.extend(lock.names.iter().map(|name| (name.clone(), until_ns)));
    }
}

/// What was seen of the holders of a lock at some moments.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    all: u32,
    idle: u32,
}

impl Seen {
    /// Adds a moment: whether one waited for work; `None` if none was seen.
    fn add(&mut self, is_idle: Option<bool>) {
        self.all += u32::from(is_idle.is_some());
        self.idle += u32::from(is_idle == Some(true));
    }

    fn are_idle(&self) -> bool {
        self.all >= LEAST && self.idle * 100 >= self.all * PERCENT
    }
}

/// Of each lock, whether those who have it mostly wait for work, as long as `may_go_on` says so.
pub fn are_idle(
    contention: &'static Contention,
    java: Java,
    locks: &[Guilty],
    may_go_on: impl Fn() -> bool,
) -> Vec<bool> {
    let mut seen = vec![Seen::default(); locks.len()];
    let pause = match contention.recorder().stacks_make_others_wait() {
        true => LONG_PAUSE,
        false => PAUSE,
    };
    let begun = Instant::now();
    while contention.looks_at_holders() && may_go_on() {
        let (mut open, of_open): (Vec<&mut Seen>, Vec<&BTreeSet<u32>>) = seen
            .iter_mut()
            .zip(locks)
            .filter_map(|(seen, lock)| (seen.all < WANTED).then_some((seen, &lock.numbers)))
            .unzip();
        let are_idle = contention.idle_holders(java, of_open.into_iter());
        open.iter_mut().zip(are_idle).for_each(|(seen, is_idle)| seen.add(is_idle));
        let passed = begun.elapsed();
        let is_none_seen = passed >= SOON && seen.iter().all(|it| it.all == 0);
        if passed >= LONGEST || is_none_seen || seen.iter().all(|it| it.all >= WANTED) {
            break;
        }
        std::thread::sleep(pause);
    }
    seen.iter().map(Seen::are_idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_idle(moments: &[(Option<bool>, u32)]) -> bool {
        let mut seen = Seen::default();
        moments.iter().for_each(|&(is_idle, times)| (0..times).for_each(|_| seen.add(is_idle)));
        seen.are_idle()
    }

    #[test]
    fn holders_are_idle_if_most_of_those_seen_are() {
        assert!(are_idle(&[(Some(true), 4)]));
        assert!(!are_idle(&[(Some(true), 3), (None, 9)]));
        assert!(are_idle(&[(Some(true), 6), (Some(false), 2), (None, 8)]));
        assert!(!are_idle(&[(Some(true), 5), (Some(false), 2)]));
        assert!(!are_idle(&[]));
    }
}
