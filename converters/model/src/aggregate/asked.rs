//! What owners of locks did while others waited, as waits charged to them.
//!
//! The agent looks at random moments, and each stands for the time since the look before, of
//! all who waited. So what all looks at a site stand for is as much as was waited there, in
//! the mean. Of that, which is known exactly, each gets its share: a ratio estimate, whose
//! standard error follows from the squares of the weights (W. G. Cochran, Sampling
//! Techniques, 3rd edition, chapter 6).
//!
//! Whoever had the lock was not seen in some looks, and their part is charged to nobody that is
//! known; or nobody had it, see [`super::handover`]. Others had released it before their stack
//! was known. They are not taken to have had it where they have it in other looks: those find
//! the longer holds.

use super::{
    known::known_thread,
    spread::shares,
    sums::{SiteSums, ThreadSums, WaitSums},
};
use crate::{filter::Window, hash::Table};
use std::collections::BTreeMap;
use tyrion_formats::{Noted, Recording};
use tyrion_wire::{
    def::id::{EMPTY_STACK, UNKNOWN},
    holder::{FREE, Holder},
};

/// The holder: thread, stack, and place where there is no stack; the site of
/// the wait.
pub(super) type BlameKey = (u32, u32, u32, u32);

/// Who had a lock at a moment, and the site of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LookKey {
    site: u32,
    thread: u32,
    stack: u32,
    /// How many frames of the stack are above the one that has the lock.
    above: u32,
    /// Nobody had it.
    is_free: bool,
}

/// Answers added up.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    answers: u64,
    /// For how much wait, in ns.
    wait_ns: u64,
    /// The squares of these.
    squares: u128,
}

/// What the looks at the owners of locks found, added up.
#[derive(Default)]
pub(super) struct LookSums(Table<LookKey, Weights>);

/// Waits charged to owners, estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlameEstimate {
    /// How many waits, and their durations.
    pub(super) charged: WaitSums,
    /// How many of the innermost frames are above the one that has the lock.
    pub(super) above: u32,
    /// Whether it was nobody who had the lock.
    pub(super) is_free: bool,
    /// How many answers that follows from.
    pub(super) answers: u64,
    /// The root of the sum of the squares of what each answer stands for, in ns.
    pub(super) error_ns: u64,
}

impl LookSums {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an answer, as far as a window lets its wait through.
    pub(super) fn add(&mut self, log: &Recording, window: &Window, answered: &Noted<Holder>) {
        let holder = &answered.record;
        let definitions = log.definitions();
        let is_wanted =
            window.holds(answered.at_ns) && definitions.sites().get(holder.site).is_some();
        if !is_wanted {
            return;
        }
        // Made-up ids shall not take memory.
        let (stack, above) = match definitions.stacks().get(holder.stack) {
            Some(_) => (holder.stack, holder.above),
            None => (EMPTY_STACK, 0),
        };
        let wait_ns = holder.stands_for_ns;
        let thread = known_thread(log, holder.owner);
        let is_free = holder.owner == UNKNOWN && holder.state == FREE;
        let key = LookKey { site: holder.site, thread, stack, above, is_free };
        self.0.entry(key).or_default().add(&Weights {
            answers: 1,
            wait_ns,
            squares: u128::from(wait_ns) * u128::from(wait_ns),
        });
    }

    /// Adds all of another one, and leaves it empty.
    pub(super) fn take(&mut self, other: &mut LookSums) {
        for (key, weights) in other.0.drain() {
            self.0.entry(key).or_default().add(&weights);
        }
    }

    /// Forgets all if no owner was seen at all: then it is only known who had locks when
    /// waits began.
    pub(super) fn keep_if_seen(&mut self) {
        if self.0.keys().all(|key| key.thread == UNKNOWN) {
            self.0.clear();
        }
    }

    /// The threads that had locks.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.keys().map(|key| key.thread)
    }

    /// Threads that had locks, and the sites where others waited for them.
    pub(super) fn sites(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.keys().map(|key| (key.thread, key.site))
    }

    /// The waits of all threads, as far as something is known of their owners, charged to
    /// those.
    pub(super) fn charge(self, waits: &WaitsBySite) -> Vec<(BlameKey, BlameEstimate)> {
        let mut by_site: BTreeMap<u32, Vec<(LookKey, Weights)>> = BTreeMap::new();
        for (key, weights) in self.0 {
            by_site.entry(key.site).or_default().push((key, weights));
        }
        let mut charged = Vec::new();
        for (site, mut answers) in by_site {
            answers.sort_unstable_by_key(|(key, _)| *key);
            let sums = waits.by_site.get(&site).copied().unwrap_or_default();
            let of = |get: fn(&Weights) -> u64| -> Vec<u64> {
                answers.iter().map(|(_, weights)| get(weights)).collect()
            };
            let wait_ns = shares(sums.wait_ns, &of(|weights| weights.wait_ns));
            let counts = shares(sums.count, &of(|weights| weights.wait_ns));
            let all: f64 = of(|weights| weights.wait_ns).into_iter().map(|ns| ns as f64).sum();
            let scale = if all > 0.0 { sums.wait_ns as f64 / all } else { 0.0 };
            for (((key, weights), wait_ns), count) in answers.into_iter().zip(wait_ns).zip(counts) {
                let LookKey { thread, stack, above, is_free, .. } = key;
                let charged_waits = WaitSums { count, wait_ns, max_ns: 0 };
                let estimated = BlameEstimate {
                    charged: charged_waits,
                    above,
                    is_free,
                    answers: weights.answers,
                    error_ns: ((weights.squares as f64).sqrt() * scale) as u64,
                };
                charged.push(((thread, stack, UNKNOWN, site), estimated));
            }
        }
        charged
    }
}

impl Weights {
    fn add(&mut self, other: &Weights) {
        self.answers = self.answers.saturating_add(other.answers);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// How long threads waited.
#[derive(Default)]
pub(super) struct WaitsBySite {
    /// All threads, at each site.
    by_site: BTreeMap<u32, WaitSums>,
}

impl WaitsBySite {
    /// Those of threads, if anything was asked.
    pub(super) fn of<'s>(
        threads: impl Iterator<Item = &'s ThreadSums>,
        asked: &LookSums,
    ) -> WaitsBySite {
        let mut waits = WaitsBySite::default();
        if asked.is_empty() {
            return waits;
        }
        for SiteSums { site, sums } in threads.flat_map(|thread| &thread.sites) {
            waits.by_site.entry(*site).or_default().add(sums);
        }
        waits
    }
}
