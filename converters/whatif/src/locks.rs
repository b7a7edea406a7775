//! The locks of a replay: those that more than one thread took, or waited for.

use crate::{
    estimated,
    numbers::Numbers,
    records::{Hold, Object, Records, is_for_lock},
};
use std::collections::{HashMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::{describe::Names, identity};
use tyrion_wire::WaitKind;

/// Stands for no lock.
pub(crate) const NONE: u32 = u32::MAX;

/// The group of a lock, by its class and what the program calls it; `None` for locks that
/// the question is not about.
pub type GroupOf<'a> = &'a (dyn Fn(&str, &str) -> Option<u32> + Sync);

/// How threads share a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One thread holds it at a time.
    Exclusive,
    /// One writer, or several readers.
    ReadWrite,
    /// This many threads at a time.
    Permits(u32),
    /// Only waits for it are known, not who holds it.
    Untraced,
}

/// A lock of the replay.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    pub(crate) sharing: Sharing,
    /// Handed over in the order of requests.
    pub(crate) is_fair: bool,
    pub(crate) group: Option<u32>,
    /// Its identity in the log; 0 if no thread waited for it.
    pub(crate) id: u32,
    /// The times from a release until a waiter continued with the lock, in ns: some of
    /// those that were recorded.
    pub(crate) handovers_ns: Vec<u64>,
}

/// All locks of a replay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    pub(crate) list: Vec<Lock>,
    by_object: HashMap<Object, u32>,
    by_id: HashMap<u32, u32>,
    kinds: HashMap<u32, WaitKind>,
}

impl Locks {
    pub(crate) fn new(
        logs: &[Recording],
        numbers: &Numbers,
        records: &Records,
        group_of: GroupOf<'_>,
    ) -> Locks {
        let is_estimated = records.places.is_some();
        let waited = waited_for(records);
        let (kinds, ids) = match is_estimated {
            true => {
                (HashMap::new(), waited.iter().map(|&id| (estimated::object(id), id)).collect())
            }
            false => (kinds(logs), ids(logs, numbers, &waited)),
        };
        let mut locks = Locks { kinds, ..Locks::default() };
        let group = Grouping { logs, numbers, group_of };
        for (object, first) in shared(&records.holds, &ids) {
            let id = ids.get(&object).copied().unwrap_or(0);
            let class = if is_estimated { group.class_of_lock(id) } else { group.class(object) };
            let lock = Lock {
                sharing: Sharing::Exclusive,
                is_fair: class.ends_with("$FairSync"),
                group: if id == 0 { group.of_hold(&first) } else { group.of_lock(id) },
                id,
                handovers_ns: Vec::new(),
            };
            let at = locks.list.len() as u32;
            locks.list.push(lock);
            locks.by_object.insert(object, at);
            if id != 0 {
                locks.by_id.insert(id, at);
            }
        }
        locks.find_sharing(&records.holds);
        let mut untraced: Vec<u32> = waited.into_iter().collect();
        untraced.retain(|id| !locks.by_id.contains_key(id));
        untraced.sort_unstable();
        for id in untraced {
            locks.by_id.insert(id, locks.list.len() as u32);
            locks.list.push(Lock {
                sharing: Sharing::Untraced,
                is_fair: false,
                group: group.of_lock(id),
                id,
                handovers_ns: Vec::new(),
            });
        }
        locks
    }

    /// The number of the lock of a hold; `None` if only one thread used it.
    #[inline]
    pub(crate) fn of_hold(&self, hold: &Hold) -> Option<u32> {
        self.by_object.get(&hold.object).copied()
    }

    /// The number of the lock with this id.
    pub(crate) fn of_id(&self, id: u32) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// Whether only waits for a lock are known, not who held it.
    pub(crate) fn is_untraced(&self, lock: u32) -> bool {
        self.list.get(lock as usize).is_some_and(|lock| lock.sharing == Sharing::Untraced)
    }

    /// The kind of lock that is taken at a place.
    #[inline]
    pub(crate) fn kind_at(&self, place: u32) -> Option<WaitKind> {
        self.kinds.get(&place).copied()
    }

    /// Determines how threads share the locks, from how they took them.
    fn find_sharing(&mut self, holds: &[Hold]) {
        let mut permits: HashMap<u32, Vec<(u64, i32)>> = HashMap::new();
        for hold in holds {
            let Some(at) = self.of_hold(hold) else { continue };
            let Some(kind) = self.kind_at(hold.place) else { continue };
            match kind {
                WaitKind::LockRead | WaitKind::LockWrite => {
                    self.list[at as usize].sharing = Sharing::ReadWrite;
                }
                WaitKind::Semaphore => {
                    let edges = permits.entry(at).or_default();
                    // At the same time, ends come first.
                    edges.push((hold.end_ns, -1));
                    edges.push((hold.end_ns.saturating_sub(hold.hold_ns), 1));
                }
                _ => {}
            }
        }
        for (at, mut edges) in permits {
            edges.sort_unstable();
            let (mut now, mut most) = (0, 1);
            for (_, change) in edges {
                now += change;
                most = most.max(now);
            }
            self.list[at as usize].sharing = Sharing::Permits(most.unsigned_abs());
        }
    }
}

/// The kind of lock that is taken at each place.
fn kinds(logs: &[Recording]) -> HashMap<u32, WaitKind> {
    let places = logs.iter().flat_map(|log| log.definitions().places().iter());
    places.map(|(id, place)| (id, place.kind)).collect()
}

/// The ids of the locks that threads waited for.
fn waited_for(records: &Records) -> HashSet<u32> {
    let waits = records.waits.iter().filter(|wait| is_for_lock(wait.kind));
    let folded = records.folded.iter().map(|folded| folded.1);
    waits.map(|wait| wait.lock).chain(folded).collect()
}

/// The ids of the locks whose object is known.
fn ids(logs: &[Recording], numbers: &Numbers, waited: &HashSet<u32>) -> HashMap<Object, u32> {
    let mut ids = HashMap::new();
    for (run, log) in logs.iter().enumerate() {
        for (lock, hash) in log.definitions().lock_instances() {
            let class = log.definitions().locks().get(lock).copied().unwrap_or(0);
            if waited.contains(&lock) {
                ids.insert((numbers.class(run, class), hash), lock);
            }
        }
    }
    ids
}

/// The objects that several threads took, or waited for, and a hold of each; in the
/// order of the holds.
fn shared(holds: &[Hold], waited: &HashMap<Object, u32>) -> Vec<(Object, Hold)> {
    let mut first: HashMap<Object, (u32, bool)> = HashMap::new();
    for hold in holds {
        let taken = first.entry(hold.object).or_insert((hold.thread, false));
        taken.1 |= taken.0 != hold.thread;
    }
    let mut listed = HashSet::new();
    let is_shared = |object: &Object| {
        waited.contains_key(object) || first.get(object).is_some_and(|(_, several)| *several)
    };
    let shared = holds.iter().filter(|hold| is_shared(&hold.object) && listed.insert(hold.object));
    shared.map(|hold| (hold.object, *hold)).collect()
}

/// Finds the groups of locks.
struct Grouping<'a> {
    logs: &'a [Recording],
    numbers: &'a Numbers,
    group_of: GroupOf<'a>,
}

impl Grouping<'_> {
    fn class(&self, (class, _): Object) -> String {
        let (run, id) = self.numbers.class_id(class);
        self.logs.get(run).map_or_else(String::new, |log| Names(log).class(id))
    }

    fn with_lock(&self, id: u32) -> Option<&Recording> {
        self.logs.iter().find(|log| log.definitions().locks().get(id).is_some())
    }

    fn class_of_lock(&self, id: u32) -> String {
        self.with_lock(id).map_or_else(String::new, |log| Names(log).lock_class(id))
    }

    /// The group of a lock that threads waited for.
    fn of_lock(&self, id: u32) -> Option<u32> {
        let (class, name) = Names(self.with_lock(id)?).lock_parts(id);
        (self.group_of)(&class, &name)
    }

    /// The group of a lock that no thread waited for: its name is that of the place where
    /// it was taken.
    fn of_hold(&self, hold: &Hold) -> Option<u32> {
        let (run, class) = self.numbers.class_id(hold.object.0);
        let class = Names(self.logs.get(run)?).class(class);
        let has_place = |log: &&Recording| log.definitions().places().get(hold.place).is_some();
        let log = self.logs.iter().find(has_place).or(self.logs.get(run))?;
        let (class, name) = identity::Locks::of(log).label_at(hold.place, &class);
        (self.group_of)(&class, &name)
    }
}
