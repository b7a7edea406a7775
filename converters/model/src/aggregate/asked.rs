//! What owners of locks did while others waited, as waits charged to them.
//!
//! The agent looks at random moments, and each stands for the time since the look before, of
//! all who waited. So what all looks at a site stand for is as much as was waited there, in
//! the mean. Of that, which is known exactly, each gets its share: a ratio estimate, whose
//! standard error follows from the squares of the weights (W. G. Cochran, Sampling
//! Techniques, 3rd edition, chapter 6).

use super::{
    hash::Table,
    known::known_thread,
    spread::shares,
    sums::{SiteSums, Sums, ThreadSums},
};
use crate::filter::Window;
use std::collections::{BTreeMap, BTreeSet};
use tyrion_formats::{Answered, Recording};
use tyrion_wire::def::id::{EMPTY_STACK, UNKNOWN};

/// The holder: thread, stack, and place where there is no stack; the site of
/// the wait.
pub(super) type BlameKey = (u32, u32, u32, u32);

/// The owner: thread and stack, and how many of its frames are above the one that has the
/// lock; the site of the wait.
type AskedKey = (u32, u32, u32, u32);

/// Answers added up.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    answers: u64,
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
        let key = (known_thread(log, holder.owner), stack, above, holder.site);
        self.0.entry(key).or_default().add(&Weights {
            answers: 1,
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
    pub(super) fn charge(mut self, log: &Recording, waits: &Waits) -> Vec<(BlameKey, Estimated)> {
        self.place_those_gone(log, waits);
        let mut by_site: BTreeMap<u32, Vec<(AskedKey, Weights)>> = BTreeMap::new();
        for (key, weights) in self.0 {
            by_site.entry(key.3).or_default().push((key, weights));
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

impl Asked {
    /// Owners that had released the lock before their stack was known: they are taken to
    /// have had it where they have it otherwise, or else where they wait for it themselves.
    /// Holds that are so short are never seen.
    fn place_those_gone(&mut self, log: &Recording, waits: &Waits) {
        let lock_of = |site: u32| log.definitions().sites().get(site).map(|site| site.lock);
        let mut gone: Vec<(AskedKey, Weights)> = Vec::new();
        let mut known: BTreeMap<(u32, u32), BTreeMap<(u32, u32), u64>> = BTreeMap::new();
        for (&key, &weights) in &self.0 {
            let (thread, stack, above, site) = key;
            let Some(lock) = lock_of(site) else { continue };
            match stack {
                EMPTY_STACK => gone.push((key, weights)),
                stack => {
                    let stacks = known.entry((thread, lock)).or_default();
                    let sum = stacks.entry((stack, above)).or_default();
                    *sum = sum.saturating_add(weights.wait_ns);
                }
            }
        }
        gone.sort_unstable_by_key(|(key, _)| *key);
        for (key, weights) in gone {
            let (thread, _, _, site) = key;
            let Some(lock) = lock_of(site) else { continue };
            let own = || {
                let stack = waits.places.get(&(thread, lock))?.0;
                Some(BTreeMap::from([((stack, 0), 1)]))
            };
            let Some(stacks) = known.get(&(thread, lock)).cloned().or_else(own) else { continue };
            self.0.remove(&key);
            let parts: Vec<u64> = stacks.values().copied().collect();
            let wait_ns = shares(weights.wait_ns, &parts);
            let answers = shares(weights.answers, &parts);
            let all = (parts.iter().copied().map(u128::from).sum::<u128>()).max(1);
            for (((stack, above), part), (wait_ns, answers)) in
                stacks.into_iter().zip(wait_ns.into_iter().zip(answers))
            {
                let squares = weights.squares / all * u128::from(part);
                let weights = Weights { answers, wait_ns, squares };
                self.0.entry((thread, stack, above, site)).or_default().add(&weights);
            }
        }
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
pub(super) struct Waits {
    /// All threads, at each site.
    by_site: BTreeMap<u32, Sums>,
    /// Where a thread waited longest for a lock, and how long, by both.
    places: BTreeMap<(u32, u32), (u32, u64)>,
}

impl Waits {
    /// Those of threads; places only of those that had locks.
    pub(super) fn of<'s>(
        log: &Recording,
        threads: impl Iterator<Item = &'s ThreadSums>,
        asked: &Asked,
    ) -> Waits {
        let mut waits = Waits::default();
        if asked.is_empty() {
            return waits;
        }
        let owners: BTreeSet<u32> = asked.threads().collect();
        for thread in threads {
            for SiteSums { site, sums } in &thread.sites {
                waits.by_site.entry(*site).or_default().add(sums);
                let own = log.definitions().sites().get(*site);
                let Some(own) = own.filter(|_| owners.contains(&thread.thread)) else { continue };
                let place = waits.places.entry((thread.thread, own.lock)).or_default();
                if sums.wait_ns > place.1 {
                    *place = (own.stack, sums.wait_ns);
                }
            }
        }
        waits
    }
}
