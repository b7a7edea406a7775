//! What a recording has counted since its log was opened, by lock. Sums only grow, and
//! there are only so many of them.

mod delta;

use delta::AcquisitionCounts;
pub use delta::Delta;

use crate::live::{FileNumber, telling::TellingClasses};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_formats::{Recording, WaitSite};
use tyrion_model::{
    describe,
    filter::Kinds,
    harmless,
    identity::{Label, Locks},
};
use tyrion_wire::{WaitKind, cell};

/// The label of all locks that have no series of their own.
pub const OTHER: &str = "other";
/// Longer names, in characters, are shortened.
pub const LONGEST_NAME: usize = 200;
/// For each lock that may have a series, how many others are remembered by name.
const REMEMBERED: usize = 100;

/// The kinds of waits, in the order in which sums of them stand.
const KINDS: usize = WaitKind::ALL.len();

/// How often and how long a lock was waited for in one way, taken and held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTotals {
    pub waits: u64,
    pub wait_ns: u64,
    pub acquisitions: u64,
    /// The standard error of that.
    pub acquisitions_error: u64,
    pub held_ns: u64,
}

impl LockTotals {
    pub fn add(&mut self, more: &LockTotals) {
        for (sum, more) in [
            (&mut self.waits, more.waits),
            (&mut self.wait_ns, more.wait_ns),
            (&mut self.acquisitions, more.acquisitions),
            (&mut self.acquisitions_error, more.acquisitions_error),
            (&mut self.held_ns, more.held_ns),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Sums by the kind of wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfKinds([LockTotals; KINDS]);

impl OfKinds {
    fn of(&mut self, kind: WaitKind) -> Option<&mut LockTotals> {
        self.0.get_mut(usize::from(kind.code()).checked_sub(1)?)
    }

    fn add(&mut self, more: &OfKinds) {
        for (sums, more) in self.0.iter_mut().zip(&more.0) {
            sums.add(more);
        }
    }

    /// The sums of each kind.
    pub fn iter(&self) -> impl Iterator<Item = (WaitKind, &LockTotals)> {
        WaitKind::ALL.into_iter().zip(&self.0)
    }

    /// Those of all kinds.
    fn all(&self) -> LockTotals {
        let mut all = LockTotals::default();
        self.0.iter().for_each(|sums| all.add(sums));
        all
    }
}

/// How many waits had a duration of each bucket of the log's cells.
pub type Durations = [u64; cell::BUCKETS];

/// All waits of a kind by their durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub waits: Durations,
    pub wait_ns: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { waits: [0; cell::BUCKETS], wait_ns: 0 }
    }
}

/// What was counted so far.
#[derive(Debug)]
pub struct MetricTotals {
    kinds: Kinds,
    max_locks: usize,
    /// The locks that have series of their own, in the order in which they got them.
    own: Vec<(String, OfKinds)>,
    by_name: HashMap<String, usize>,
    /// All others together.
    other: OfKinds,
    /// How long those were waited for, by name.
    others_ns: HashMap<String, u64>,
    durations: [Histogram; KINDS],
    telling: TellingClasses,
}

impl MetricTotals {
    /// Of these kinds of waits, with series for at most so many locks.
    pub fn new(kinds: Kinds, max_locks: usize) -> MetricTotals {
        MetricTotals {
            kinds,
            max_locks,
            own: Vec::new(),
            by_name: HashMap::new(),
            other: OfKinds::default(),
            others_ns: HashMap::new(),
            durations: [Histogram::default(); KINDS],
            telling: TellingClasses::default(),
        }
    }

    /// The kinds of waits that are counted.
    pub fn kinds(&self) -> impl Iterator<Item = WaitKind> {
        WaitKind::ALL.into_iter().filter(|&kind| self.kinds.contains(kind))
    }

    /// The locks with series of their own, and the others together.
    pub fn locks(&self) -> impl Iterator<Item = (&str, &OfKinds)> {
        let own = self.own.iter().map(|(name, sums)| (name.as_str(), sums));
        own.chain([(OTHER, &self.other)])
    }

    /// Waits by their durations.
    pub fn durations(&self) -> impl Iterator<Item = (WaitKind, &Histogram)> {
        WaitKind::ALL.into_iter().zip(&self.durations)
    }

    /// All locks together.
    pub fn all(&self) -> LockTotals {
        let mut all = self.other.all();
        self.own.iter().for_each(|(_, sums)| all.add(&sums.all()));
        all
    }

    /// The label of a lock of this log, by its id.
    pub fn label_of(&self, log: &Recording, lock: u32) -> &str {
        let locks = Locks::of(log).whole();
        let (class, name) = locks.label(locks.with_id(lock));
        let own = self.by_name.get(&self.name(&class, &name)).and_then(|&nth| self.own.get(nth));
        own.map_or(OTHER, |(name, _)| name)
    }

    /// Takes up what was read. No more locks get a series later if this `is_all`.
    pub fn add(&mut self, delta: &Delta, logs: &[(FileNumber, &Recording)], is_all: bool) {
        self.learn(delta, logs);
        let new = self.by_lock(delta, logs);
        let all_ns = new.values().map(|sums| sums.all().wait_ns);
        let all_ns = all_ns.fold(self.all().wait_ns, u64::saturating_add);
        for (name, sums) in self.ranked(&new) {
            if self.has_room(sums.wait_ns, all_ns, is_all) {
                self.others_ns.remove(&name);
                self.by_name.insert(name.clone(), self.own.len());
                self.own.push((name, OfKinds::default()));
            } else {
                self.others_ns.insert(name, sums.wait_ns);
            }
        }
        for (name, sums) in &new {
            let own = self.by_name.get(name).and_then(|&nth| self.own.get_mut(nth));
            own.map_or(&mut self.other, |(_, own)| own).add(sums);
        }
        self.forget_least();
    }

    fn learn(&mut self, delta: &Delta, logs: &[(FileNumber, &Recording)]) {
        for (log, site, _) in delta.waits(logs) {
            if self.kinds.contains(site.kind) {
                let (class, name) = of_site(log, &site);
                self.telling.add(&class, &name, site.kind);
            }
        }
        for (log, class, (id, place), _) in delta.taken(logs) {
            if self.kinds.contains(place.kind) {
                let (class, name) = of_place(log, id, class);
                self.telling.add(&class, &name, place.kind);
            }
        }
    }

    /// What was read by the names of locks; durations are taken up at once.
    fn by_lock(
        &mut self,
        delta: &Delta,
        logs: &[(FileNumber, &Recording)],
    ) -> BTreeMap<String, OfKinds> {
        let mut new: BTreeMap<String, OfKinds> = BTreeMap::new();
        let mut add = |name: String, kind: WaitKind, more: &LockTotals| {
            if let Some(sums) = new.entry(name).or_default().of(kind) {
                sums.add(more);
            }
        };
        for (log, site, waited) in delta.waits(logs) {
            if !self.kinds.contains(site.kind) {
                continue;
            }
            let (class, name) = of_site(log, &site);
            let (waits, wait_ns) = (waited.waits, waited.wait_ns);
            add(
                self.name(&class, &name),
                site.kind,
                &LockTotals { waits, wait_ns, ..LockTotals::default() },
            );
            let nth = usize::from(site.kind.code()).wrapping_sub(1);
            let Some(histogram) = self.durations.get_mut(nth) else { continue };
            histogram.wait_ns = histogram.wait_ns.saturating_add(wait_ns);
            for (sum, more) in histogram.waits.iter_mut().zip(waited.durations) {
                *sum = sum.saturating_add(more);
            }
        }
        for (log, class, (id, place), taken) in delta.taken(logs) {
            if self.kinds.contains(place.kind) {
                let (class, name) = of_place(log, id, class);
                let &AcquisitionCounts { acquisitions, acquisitions_error, held_ns } = taken;
                let sums = LockTotals {
                    acquisitions,
                    acquisitions_error,
                    held_ns,
                    ..LockTotals::default()
                };
                add(self.name(&class, &name), place.kind, &sums);
            }
        }
        new
    }

    /// The name of a lock, or of all locks of a class that the program calls the same.
    fn name(&self, class: &str, name: &str) -> String {
        let class = describe::readable_class(class);
        let name = if self.telling.holds(&class, self.kinds) { "" } else { name };
        let called = describe::lock_called(name, &class, "");
        harmless::within(&called, LONGEST_NAME).into_owned()
    }

    /// The locks without a series of which something is new, with all that is known of
    /// them; those that were waited for longest first.
    fn ranked(&self, new: &BTreeMap<String, OfKinds>) -> Vec<(String, LockTotals)> {
        // A class may be called as all the others are together.
        let without = new.keys().filter(|&name| name != OTHER && !self.by_name.contains_key(name));
        let mut ranked: Vec<(String, LockTotals)> = without
            .map(|name| {
                let mut sums = new.get(name).map(OfKinds::all).unwrap_or_default();
                let earlier_ns = self.others_ns.get(name).copied().unwrap_or(0);
                sums.wait_ns = sums.wait_ns.saturating_add(earlier_ns);
                (name.clone(), sums)
            })
            .collect();
        ranked.sort_by_key(|(_, sums)| Reverse((sums.wait_ns, sums.held_ns, sums.acquisitions)));
        ranked
    }

    /// Whether a lock that was waited for so long, of so much in all, gets a series. Half
    /// of them are for those that come first; the others are kept for locks that turn out
    /// to matter.
    fn has_room(&self, wait_ns: u64, all_ns: u64, is_all: bool) -> bool {
        let first = if is_all { self.max_locks } else { self.max_locks.div_ceil(2) };
        let matters = wait_ns != 0 && wait_ns >= all_ns / self.max_locks.max(1) as u64;
        self.own.len() < first || self.own.len() < self.max_locks && matters
    }

    /// Forgets those that were waited for least, when too many are remembered.
    fn forget_least(&mut self) {
        let most = self.max_locks.saturating_mul(REMEMBERED);
        if self.own.len() >= self.max_locks {
            // None of them will get a series.
            self.others_ns.clear();
        } else if self.others_ns.len() > most {
            let mut longest: Vec<(String, u64)> = self.others_ns.drain().collect();
            longest.sort_by_key(|(_, wait_ns)| Reverse(*wait_ns));
            longest.truncate(most / 2);
            self.others_ns = longest.into_iter().collect();
        }
    }
}

/// What the lock of a site is called. Labels are whole names, which stay the same when the
/// log tells of more locks.
fn of_site(log: &Recording, site: &WaitSite) -> Label {
    let locks = Locks::of(log).whole();
    locks.label(locks.at_site(site))
}

/// The same of locks of a class that are taken at a place.
fn of_place(log: &Recording, place: u32, class: u32) -> Label {
    let locks = Locks::of(log).whole();
    locks.label(locks.at_place(place, class))
}

#[cfg(test)]
mod tests;
