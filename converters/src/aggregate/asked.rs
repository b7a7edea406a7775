//! What owners of locks did while others waited, as waits charged to them.
//!
//! A waiter asks by chance, and its answer stands for so many waits. So the wait for which
//! an answer stands is its own, so many times; and what all answers for a site stand for is
//! as much as was waited there, in the mean. Of that, which is known exactly, each answer
//! gets its share: a ratio estimate, whose standard error follows from the squares of the
//! weights (W. G. Cochran, Sampling Techniques, 3rd edition, chapter 6).

use super::{
    hash::Table,
    known::known_thread,
    spread::shares,
    sums::{Sums, ThreadSums},
    trace::BlameKey,
};
use crate::filter::Window;
use std::collections::BTreeMap;
use tyrion_formats::{Answered, Recording};
use tyrion_wire::{
    def::id::{EMPTY_STACK, UNKNOWN},
    holder::ONE_WAIT,
};

/// The owner: thread and stack, and how many of its frames are above the one that has the
/// lock; the site of the wait.
type AskedKey = (u32, u32, u32, u32);

/// Answers added up.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    answers: u64,
    /// For how many waits they stand, in parts of [`ONE_WAIT`].
    stands_for: u64,
    /// For how much wait, in ns.
    wait_ns: u64,
    /// The squares of these.
    squares: u128,
}

/// What waiters were told.
#[derive(Default)]
pub(super) struct Asked(Table<AskedKey, Weights>);

/// Waits charged to owners, estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Estimated {
    /// How many waits, and their durations.
    pub(super) charged: Sums,
    /// How many of the innermost frames are above the one that has the lock.
    pub(super) above: u32,
    /// How many answers that follows from.
    pub(super) answers: u64,
    /// The root of the sum of the squares of what each answer stands for, in ns.
    pub(super) error_ns: u64,
}

impl Asked {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an answer, as far as a window lets its wait through.
    pub(super) fn add(&mut self, log: &Recording, window: &Window, answered: &Answered) {
        let holder = &answered.holder;
        let definitions = log.definitions();
        let is_wanted = window.holds(answered.end_ns)
            && holder.wait_ns >= window.min_wait_ns
            && definitions.sites().get(holder.site).is_some();
        if !is_wanted {
            return;
        }
        // Made-up ids shall not take memory.
        let (stack, above) = match definitions.stacks().get(holder.stack) {
            Some(_) => (holder.stack, holder.above),
            None => (EMPTY_STACK, 0),
        };
        let wait_ns = u128::from(holder.wait_ns) * u128::from(holder.stands_for);
        let wait_ns = u64::try_from(wait_ns / u128::from(ONE_WAIT)).unwrap_or(u64::MAX);
        let key = (known_thread(log, holder.owner), stack, above, holder.site);
        self.0.entry(key).or_default().add(&Weights {
            answers: 1,
            stands_for: holder.stands_for,
            wait_ns,
            squares: u128::from(wait_ns) * u128::from(wait_ns),
        });
    }

    /// Adds all of another one, and leaves it empty.
    pub(super) fn take(&mut self, other: &mut Asked) {
        for (key, weights) in other.0.drain() {
            self.0.entry(key).or_default().add(&weights);
        }
    }

    /// The threads that had locks.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.keys().map(|key| key.0)
    }

    /// Threads that had locks, and the sites where others waited for them.
    pub(super) fn sites(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.keys().map(|&(thread, _, _, site)| (thread, site))
    }

    /// The waits of all threads, as far as something is known of their owners, charged to
    /// those.
    pub(super) fn charge(self, waits: &BTreeMap<u32, Sums>) -> Vec<(BlameKey, Estimated)> {
        let mut by_site: BTreeMap<u32, Vec<(AskedKey, Weights)>> = BTreeMap::new();
        for (key, weights) in self.0 {
            by_site.entry(key.3).or_default().push((key, weights));
        }
        let mut charged = Vec::new();
        for (site, mut answers) in by_site {
            answers.sort_unstable_by_key(|(key, _)| *key);
            let sums = waits.get(&site).copied().unwrap_or_default();
            let of = |get: fn(&Weights) -> u64| -> Vec<u64> {
                answers.iter().map(|(_, weights)| get(weights)).collect()
            };
            let wait_ns = shares(sums.wait_ns, &of(|weights| weights.wait_ns));
            let counts = shares(sums.count, &of(|weights| weights.stands_for));
            let all: f64 = of(|weights| weights.wait_ns).into_iter().map(|ns| ns as f64).sum();
            let scale = if all > 0.0 { sums.wait_ns as f64 / all } else { 0.0 };
            for (((key, weights), wait_ns), count) in answers.into_iter().zip(wait_ns).zip(counts) {
                let (thread, stack, above, _) = key;
                let charged_waits = Sums { count, wait_ns, max_ns: 0 };
                let estimated = Estimated {
                    charged: charged_waits,
                    above,
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
        self.stands_for = self.stands_for.saturating_add(other.stands_for);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// How long all threads waited at each site.
pub(super) fn waits_by_site<'s>(
    threads: impl Iterator<Item = &'s ThreadSums>,
) -> BTreeMap<u32, Sums> {
    let mut waits: BTreeMap<u32, Sums> = BTreeMap::new();
    for site in threads.flat_map(|thread| &thread.sites) {
        waits.entry(site.site).or_default().add(&site.sums);
    }
    waits
}
