//! What only the records of trace mode tell: lock objects, and what was taken
//! within what.

use crate::commands::{
    info::record_filter::RecordFilter,
    lock_names::{LockNames, held},
};
use rayon::prelude::*;
use std::collections::HashMap;
use tyrion_formats::{Entry, Note, Noted, Recording};
use tyrion_model::filter::Filter;
use tyrion_wire::trace::Held;

/// Lock objects, by how many threads took them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InstanceCounts {
    pub(super) alone: u64,
    pub(super) shared: u64,
    /// By virtual threads only, one or several: they have one name together.
    pub(super) virtual_threads: u64,
}

/// What the records say of an instance, and whether the filter wants it.
#[derive(Clone, Copy)]
struct InstanceUse {
    place: u32,
    shared: bool,
    /// Virtual threads took it, and no other thread.
    is_virtual: bool,
    wanted: bool,
}

impl InstanceUse {
    fn merge(&mut self, other: InstanceUse) {
        self.shared |= other.shared || self.is_virtual != other.is_virtual;
        self.is_virtual &= other.is_virtual;
        self.wanted |= other.wanted;
        // Whichever chunk is read first, the same place decides.
        self.place = self.place.min(other.place);
    }
}

/// Whether a thread's name stands for all virtual threads: it has no id of Java's.
fn is_virtual(log: &Recording, thread: u32) -> bool {
    log.definitions().threads().get(thread).is_some_and(|thread| thread.java_id == 0)
}

/// A lock as nesting knows it: its class, and its hash (true) or place.
type NestKey = (u32, u32, bool);

/// What the records of some chunks say.
#[derive(Default)]
pub(super) struct TraceRecords {
    /// All of them.
    pub(super) records: u64,
    /// By class and hash.
    instances: HashMap<(u32, u32), InstanceUse>,
    /// The outer lock and the inner one, and where each was taken.
    nests: HashMap<(NestKey, NestKey), (Held, Held)>,
}

impl TraceRecords {
    /// Reads all records, on all workers of the current rayon pool. Damage is
    /// told by whoever reads the waits.
    pub(super) fn read(log: &Recording, filter: &Filter) -> TraceRecords {
        let records = RecordFilter::new(log, filter);
        let chunks = log.event_chunks().par_iter();
        let found = chunks.fold(TraceRecords::default, |mut found, chunk| {
            if let Ok(mut events) = log.events(chunk) {
                events.visit_all(|entry| {
                    if let Entry::Note(traced) = entry {
                        let wanted = || records.wants(log, traced.thread, traced.at_ns);
                        found.add(&traced, is_virtual(log, traced.thread), wanted);
                    }
                });
            }
            found
        });
        found.reduce(TraceRecords::default, TraceRecords::merge)
    }

    fn add(&mut self, traced: &Noted<Note<'_>>, is_virtual: bool, wanted: impl Fn() -> bool) {
        if !traced.record.is_of_trace() {
            return;
        }
        self.records += 1;
        match &traced.record {
            Note::Instance(instance) => {
                // That others took it counts, whatever the filter asks.
                let Held { place, class, hash } = held(instance);
                let seen =
                    InstanceUse { place, shared: instance.shared, is_virtual, wanted: wanted() };
                self.instances.entry((class, hash)).or_insert(seen).merge(seen);
            }
            Note::Nest(nest) if wanted() => {
                for outer in nest.outer.iter() {
                    let pair = (nested(outer), nested(nest.inner));
                    self.nests.entry(pair).or_insert((outer, nest.inner));
                }
            }
            _ => {}
        }
    }

    fn merge(mut self, other: TraceRecords) -> TraceRecords {
        self.records += other.records;
        for (instance, seen) in other.instances {
            self.instances.entry(instance).or_insert(seen).merge(seen);
        }
        for (pair, held) in other.nests {
            self.nests.entry(pair).or_insert(held);
        }
        self
    }

    /// Lock objects that the filter wants.
    pub(super) fn instances(&self, lock_names: &LockNames<'_>) -> InstanceCounts {
        let mut instances = InstanceCounts::default();
        for (&(class, hash), seen) in self.instances.iter().filter(|(_, seen)| seen.wanted) {
            let wanted = !lock_names.filters() || {
                let lock = lock_names.lock(Held { place: seen.place, class, hash });
                lock_names.wants(&lock)
            };
            if wanted {
                let count = match (seen.shared, seen.is_virtual) {
                    (true, _) => &mut instances.shared,
                    (false, true) => &mut instances.virtual_threads,
                    (false, false) => &mut instances.alone,
                };
                *count += 1;
            }
        }
        instances
    }

    /// Pairs of locks of which the filter wants one.
    pub(super) fn nesting(&self, lock_names: &LockNames<'_>) -> u64 {
        let wanted = |held: Held| {
            let lock = lock_names.lock(held);
            lock_names.wants(&lock)
        };
        let pairs = self.nests.values();
        pairs.filter(|(outer, inner)| wanted(*outer) || wanted(*inner)).count() as u64
    }
}

fn nested(held: Held) -> NestKey {
    match held.hash {
        0 => (held.class, held.place, false),
        hash => (held.class, hash, true),
    }
}
