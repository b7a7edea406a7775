//! Numbers for the ids of a log's files, and whether the filter wants what they
//! stand for: found once, before the waits are gone over.

use super::{
    charge::{For, NOBODY},
    sums::{ChainNames, What},
};
use crate::findings::groups::{LockRef, thread_group};
use std::collections::HashMap;
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    filter::{Filter, Kinds},
    identity::{Locks, Node},
    withheld::Withheld,
};
use tyrion_wire::{WaitKind, def::id::UNKNOWN};

/// Threads of a recording.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// By `Thread.getId()`.
    numbers: HashMap<u64, u32>,
    /// The group of each, a number of [`ChainNames::groups`].
    pub(super) groups: Vec<u32>,
}

/// A thread of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadPlan {
    pub(super) number: u32,
    pub(super) is_wanted: bool,
    /// Whether it is one thread that can have a lock: the one that stands for all
    /// virtual ones, and those whose definition is lost, are none.
    is_one: bool,
}

/// A site of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SitePlan {
    /// The lock's id.
    pub(super) lock: u32,
    /// A number of [`ChainNames::whats`].
    pub(super) what: u32,
    pub(super) is_for: For,
    /// Whether the filter asks for the lock, and for waits of the kind.
    pub(super) is_wanted: bool,
    /// Whether it asks for the lock.
    pub(super) is_wanted_lock: bool,
}

/// What is known of a file's threads and sites.
#[derive(Debug)]
pub(super) struct Plan {
    /// By id; the first one is for those whose definition is lost, too.
    threads: Vec<ThreadPlan>,
    sites: Vec<Option<SitePlan>>,
    pending: HashMap<(u32, WaitKind), SitePlan>,
}

impl Plan {
    /// Those of a log; `withheld` says what waits for no lock are, and which of its logs
    /// this one is.
    pub(super) fn new(
        log: &Recording,
        filter: &Filter,
        (withheld, run): (&Withheld, usize),
        threads: &mut Threads,
        names: &mut ChainNames,
    ) -> Plan {
        let definitions = log.definitions();
        let ids = 0..definitions.threads().len().max(1) as u32;
        let threads = ids.map(|id| thread((log, id), filter, threads, names)).collect();
        let locks = Locks::of(log);
        let mut known = HashMap::new();
        let mut site = |node: Node, lock: u32, kind: WaitKind| {
            let key = (node, lock, kind);
            *known.entry(key).or_insert_with(|| site((log, &locks), key, filter, names))
        };
        let mut sites = vec![None; definitions.sites().len()];
        for (id, defined) in definitions.sites().iter() {
            if let Some(plan) = sites.get_mut(id as usize) {
                let of_lock = site(locks.at_site(defined), defined.lock, defined.kind);
                let is_for = match withheld.is_withheld_site(run, id) {
                    true => For::Withheld,
                    false if withheld.announces_work(run, id) => For::Other,
                    false => of_lock.is_for,
                };
                *plan = Some(SitePlan { is_for, ..of_lock });
            }
        }
        for pending in log.pending() {
            site(locks.with_id(pending.lock), pending.lock, pending.kind);
        }
        let wanted = log.pending().iter().map(|pending| (pending.lock, pending.kind));
        let of_key = |(lock, kind)| known.get(&(locks.with_id(lock), lock, kind)).copied();
        let pending = wanted.filter_map(|key| Some((key, of_key(key)?))).collect();
        Plan { threads, sites, pending }
    }

    #[inline]
    pub(super) fn thread(&self, id: u32) -> ThreadPlan {
        let lost = || self.threads.first().copied();
        let none = ThreadPlan { number: NOBODY, is_wanted: false, is_one: false };
        self.threads.get(id as usize).copied().or_else(lost).unwrap_or(none)
    }

    /// The number of an owner, if that is known.
    #[inline]
    pub(super) fn owner(&self, id: u32) -> u32 {
        let owner = self.threads.get(id as usize).filter(|owner| id != UNKNOWN && owner.is_one);
        owner.map_or(NOBODY, |owner| owner.number)
    }

    #[inline]
    pub(super) fn site(&self, id: u32) -> Option<SitePlan> {
        self.sites.get(id as usize).copied().flatten()
    }

    pub(super) fn pending(&self, lock: u32, kind: WaitKind) -> Option<SitePlan> {
        self.pending.get(&(lock, kind)).copied()
    }
}

fn thread(
    (log, id): (&Recording, u32),
    filter: &Filter,
    threads: &mut Threads,
    known: &mut ChainNames,
) -> ThreadPlan {
    let name = Names(log).thread(id);
    let java_id = log.definitions().threads().get(id).map_or(0, |thread| thread.java_id);
    let next = threads.groups.len() as u32;
    let number = *threads.numbers.entry(java_id).or_insert(next);
    if number == next {
        threads.groups.push(known.groups.number(thread_group(&name)));
    }
    let is_wanted = filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name));
    ThreadPlan { number, is_wanted, is_one: java_id != 0 }
}

/// Of a site that does not withhold work.
fn site(
    (log, locks): (&Recording, &Locks<'_>),
    (node, lock, kind): (Node, u32, WaitKind),
    filter: &Filter,
    known: &mut ChainNames,
) -> SitePlan {
    let (class, name) = locks.label(node);
    let what: What = (LockRef { name, class, id: 0 }, kind);
    let regex = filter.lock.as_ref();
    let jvm_class = Names(log).lock_class(lock);
    let is_wanted_lock = regex.is_none_or(|regex| locks.matches(regex, node, &jvm_class, lock));
    SitePlan {
        lock,
        what: known.whats.number(what),
        is_for: if Kinds::idle().contains(kind) { For::Other } else { For::Lock },
        is_wanted: is_wanted_lock && filter.kinds.contains(kind),
        is_wanted_lock,
    }
}
