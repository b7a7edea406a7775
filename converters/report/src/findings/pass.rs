//! One pass over a log's events and cells.

mod heat;
mod rest;
mod sums;
mod time_use;
mod worker;

use super::{
    axis::Axis,
    busy::SpentTime,
    delay::Delay,
    for_work::ForWork,
    groups::{LockGroups, ThreadGroups, thread_group},
    owners::Owners,
    pauses::PauseTimes,
    ranks::{BANDS, NONE, Ranks, shows},
};
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
pub(super) use sums::{Blames, Sums};
pub(super) use time_use::Use;
use tyrion_formats::{Recording, ThreadDef};
use tyrion_model::{
    aggregate::LogIds, describe::Names, filter::Filter, pass::Question, withheld::Withheld,
};
use tyrion_wire::{WaitKind, slot::Pending};
use worker::DelayVisitor;

/// Whether waits of this kind are for something to happen.
fn is_idle(kind: WaitKind) -> bool {
    kind.is_idle()
}

/// Whether a thread is one that the JVM runs for itself: what it does is not
/// what the program has time for.
pub(super) fn is_jvms(log: &Recording, thread: &ThreadDef) -> bool {
    matches!(&*log.text(thread.group), "system" | "InnocuousThreadGroup")
        // It waits for the others to end.
        || log.text(thread.first_name) == "DestroyJavaVM"
}

/// A log to read, and what to look for.
pub(super) struct Job<'a> {
    pub(super) log: &'a Recording,
    pub(super) ids: &'a LogIds,
    pub(super) filter: &'a Filter,
    pub(super) groups: &'a LockGroups,
    pub(super) axis: &'a Axis,
    pub(super) ranks: &'a Ranks,
    /// When the garbage collector had all threads stopped, if it did.
    pub(super) pauses: Option<&'a PauseTimes>,
    /// What waits for no lock are, and which of its logs this is.
    pub(super) withheld: (&'a Withheld, usize),
    /// Which waits for locks are for work.
    pub(super) for_work: &'a ForWork,
}

/// What is known of a log afterwards, by its own ids.
pub(super) struct LogDelays {
    /// Waits over the threshold, by site.
    pub(super) delays: Vec<Delay>,
    pub(super) threads: Vec<ThreadTally>,
    /// How much of the shown waits fell into [`Job::pauses`], by site, in ns.
    pub(super) collected_ns: Vec<u64>,
    /// Waits whose lock's owner is known.
    pub(super) owners: Owners,
}

/// What is asked of a log.
pub(super) struct DelayQuestion<'a> {
    job: Job<'a>,
    sites: Vec<SitePlan>,
    wanted: Vec<ThreadPlan>,
    threads: Vec<ThreadTally>,
    found: Mutex<LogSums>,
}

/// What workers have found.
struct LogSums {
    sums: Sums,
    delays: Vec<Delay>,
    collected_ns: Vec<u64>,
    owners: Owners,
}

impl<'a> DelayQuestion<'a> {
    /// What was read, once the pass is over; adds to the sums of all logs.
    pub(super) fn finish(self, all: &mut Sums) -> (Job<'a>, LogDelays) {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let LogSums { sums, delays, collected_ns, owners } = found;
        all.add(&sums);
        (self.job, LogDelays { delays, threads: self.threads, collected_ns, owners })
    }
}

impl<'a> Question for DelayQuestion<'a> {
    type Visitor<'q>
        = DelayVisitor<'q, 'a>
    where
        Self: 'q;

    fn visitor(&self) -> DelayVisitor<'_, 'a> {
        DelayVisitor::new(&self.job, &self.sites, &self.wanted, &self.threads)
    }

    fn take(&self, worker: DelayVisitor<'_, 'a>) {
        let found = &mut *lock(&self.found);
        found.sums.add(&worker.sums);
        found.delays.iter_mut().zip(&worker.delays).for_each(|(sum, more)| *sum += *more);
        let more = found.collected_ns.iter_mut().zip(&worker.collected_ns);
        more.for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
        found.owners.add(worker.owners);
    }
}

/// What is known of a thread, written to by all workers.
pub(super) struct ThreadTally {
    delays: AtomicU64,
    delay_ns: AtomicU64,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    idle_ns: AtomicU64,
    contended_ns: AtomicU64,
}

impl ThreadTally {
    fn new() -> ThreadTally {
        let [delays, delay_ns, last_ns, idle_ns, contended_ns] = [0; 5].map(AtomicU64::new);
        let first_ns = AtomicU64::new(u64::MAX);
        ThreadTally { delays, delay_ns, first_ns, last_ns, idle_ns, contended_ns }
    }

    /// Its waits over the threshold.
    pub(super) fn delay(&self) -> Delay {
        Delay { count: self.delays.load(Relaxed), wait_ns: self.delay_ns.load(Relaxed) }
    }

    /// From its first wait to its last, monotonic ns.
    pub(super) fn span(&self) -> (u64, u64) {
        let last_ns = self.last_ns.load(Relaxed);
        (self.first_ns.load(Relaxed).min(last_ns), last_ns)
    }

    /// What its waits took of its time.
    pub(super) fn spent(&self) -> SpentTime {
        SpentTime {
            idle_ns: self.idle_ns.load(Relaxed),
            contended_ns: self.contended_ns.load(Relaxed),
        }
    }

    fn spend(&self, spent: SpentTime) {
        for (sum, ns) in [(&self.idle_ns, spent.idle_ns), (&self.contended_ns, spent.contended_ns)]
        {
            if ns != 0 {
                add(sum, ns);
            }
        }
    }

    fn add(&self, delay: Delay, first_ns: u64, last_ns: u64) {
        if delay.count != 0 {
            self.delays.fetch_add(delay.count, Relaxed);
            add(&self.delay_ns, delay.wait_ns);
        }
        self.first_ns.fetch_min(first_ns, Relaxed);
        self.last_ns.fetch_max(last_ns, Relaxed);
    }
}

/// Adds to a sum that all workers add to.
fn add(sum: &AtomicU64, more: u64) {
    // Never refused.
    let _ = sum.fetch_update(Relaxed, Relaxed, |sum| Some(sum.saturating_add(more)));
}

/// What to do with the waits of a site: few bytes, since all sites should stay
/// in the cache.
#[derive(Clone, Copy)]
struct SitePlan {
    /// Its distribution.
    distribution: u16,
    /// Its row of the locks' timeline.
    row: u8,
    /// Its band of the picture of the threads' time; [`BANDS`] if it is no wait for a lock.
    band: u8,
    count: Count,
    /// Whether its waits are shown: what `count` says, at hand.
    shown: bool,
}

/// What waits count as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    /// Nothing that is asked for.
    Nothing,
    /// Lock contention that is shown.
    Contention,
    /// Idle waiting that is not shown.
    Idle,
    /// Idle waiting that is shown.
    IdleShown,
    /// Waits of idle kinds that withhold work; not shown.
    Withheld,
    /// The same, and shown.
    WithheldShown,
    /// None of these, and shown.
    Other,
}

impl Count {
    /// In the order of their numbers.
    const ALL: [Count; 7] = [
        Count::Nothing,
        Count::Contention,
        Count::Idle,
        Count::IdleShown,
        Count::Withheld,
        Count::WithheldShown,
        Count::Other,
    ];
    const LEN: usize = Count::ALL.len();

    fn is_shown(self) -> bool {
        matches!(self, Count::Contention | Count::IdleShown | Count::WithheldShown | Count::Other)
    }

    /// Whether it is of a kind that waits for something to happen.
    fn is_idle(self) -> bool {
        matches!(self, Count::Idle | Count::IdleShown) || self.is_withheld()
    }

    fn is_withheld(self) -> bool {
        matches!(self, Count::Withheld | Count::WithheldShown)
    }
}

/// A thread of the log.
#[derive(Clone, Copy)]
struct ThreadPlan {
    wanted: bool,
    /// Whether its time counts: it is none of the JVM's own.
    lives: bool,
    /// Its row of the timeline.
    row: u32,
    /// Its group.
    group: u32,
}

impl<'a> Job<'a> {
    /// Whether the filter wants a thread.
    pub(super) fn wants(&self, thread: u32) -> bool {
        let regex = self.filter.thread.as_ref();
        regex.is_none_or(|regex| regex.is_match(&Names(self.log).thread(thread)))
    }

    /// Whether the filter wants a lock.
    fn wants_lock(&self, lock: u32) -> bool {
        let regex = self.filter.lock.as_ref();
        regex.is_none_or(|regex| Names(self.log).lock_matches(regex, lock))
    }

    /// Whether a wait that has not ended withholds work, for a lock that the
    /// filter wants.
    pub(super) fn is_withheld(&self, kind: WaitKind, stack: u32, lock: u32) -> bool {
        let (withheld, run) = self.withheld;
        withheld.is_withheld((run, self.log), kind, stack) && self.wants_lock(lock)
    }

    /// Whether a wait that has not ended is for something to happen.
    pub(super) fn is_idle(&self, pending: &Pending) -> bool {
        let (withheld, run) = self.withheld;
        is_idle(pending.kind) || self.for_work.is_pending((run, self.log), pending, withheld)
    }

    /// What is to be asked of the log, whose threads are given their groups.
    pub(super) fn asking(self, names: &mut ThreadGroups) -> DelayQuestion<'a> {
        let (sites, wanted) = (self.sites(), self.threads(names));
        let threads: Vec<ThreadTally> = wanted.iter().map(|_| ThreadTally::new()).collect();
        let sums = Sums::new(self.axis, self.ranks);
        let delays = vec![Delay::default(); sites.len()];
        let collected_ns = vec![0; sites.len()];
        let found = LogSums { sums, delays, collected_ns, owners: Owners::default() };
        DelayQuestion { job: self, sites, wanted, threads, found: Mutex::new(found) }
    }

    /// What nobody asks for is counted where nobody looks.
    fn nothing(&self) -> SitePlan {
        let (distribution, row) =
            (self.ranks.distributions.len() as u16 + 1, self.ranks.groups.len() as u8 + 1);
        SitePlan { distribution, row, band: BANDS as u8, count: Count::Nothing, shown: false }
    }

    fn sites(&self) -> Vec<SitePlan> {
        let definitions = self.log.definitions();
        let other = self.ranks.groups.len() as u8;
        let mut rows = vec![other; self.groups.len()];
        for (&group, row) in self.ranks.groups.iter().zip(0..) {
            rows[group as usize] = row;
        }
        let mut sites = vec![self.nothing(); definitions.sites().len()];
        for (id, site) in definitions.sites().iter() {
            let plan = &mut sites[id as usize];
            let known = self.ids.site(id).filter(|_| shows(self.filter, site.kind));
            let (withheld, run) = self.withheld;
            let is_withheld = withheld.is_withheld_site(run, id) && self.wants_lock(site.lock);
            let is_idle = is_idle(site.kind) || self.for_work.is_site(run, id);
            plan.count = match (known, is_idle) {
                (None, false) => Count::Nothing,
                (None, true) if is_withheld => Count::Withheld,
                (None, true) => Count::Idle,
                (Some(_), true) if is_withheld => Count::WithheldShown,
                (Some(_), true) => Count::IdleShown,
                (Some(_), false) if site.kind.is_contention() => Count::Contention,
                (Some(_), false) => Count::Other,
            };
            plan.shown = plan.count.is_shown();
            if let Some((_, lock, kind)) = known {
                let group = self.groups.of(lock);
                plan.row = rows.get(group as usize).copied().unwrap_or(other);
                if plan.count == Count::Contention {
                    plan.band = self.ranks.band(group);
                }
                plan.distribution =
                    self.ranks.distributions.get(&(group, kind)).copied().unwrap_or(0);
            }
        }
        sites
    }

    /// By id; the first one is for threads whose definition is lost, too.
    fn threads(&self, names: &mut ThreadGroups) -> Vec<ThreadPlan> {
        let threads = self.log.definitions().threads();
        let rows: HashMap<u32, u32> = self.ranks.threads.iter().copied().zip(0..).collect();
        let wanted = |id: u32| {
            let name = Names(self.log).thread(id);
            let regex = self.filter.thread.as_ref();
            let of_profile = self.ids.thread(id);
            ThreadPlan {
                wanted: regex.is_none_or(|regex| regex.is_match(&name)),
                lives: threads.get(id).is_none_or(|thread| !is_jvms(self.log, thread)),
                row: of_profile.and_then(|id| rows.get(&id).copied()).unwrap_or(NONE),
                group: names.id(thread_group(&name)),
            }
        };
        (0..threads.len().max(1) as u32).map(wanted).collect()
    }
}

/// Locks, whatever became of threads that held the lock before: sums are whole
/// between any two additions.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
