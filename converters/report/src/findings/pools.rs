//! Threads that take work from somewhere, and whether they ever have to wait for it.

use super::{
    groups::{numberless, thread_group},
    lives::life,
    names,
};
use std::collections::{BTreeMap, BTreeSet};
use tyrion_formats::{Recording, event_log};
use tyrion_model::{describe::Names, withheld::Withheld};

/// A group of threads that take work: of what they did in the second half of the recording.
/// At the beginning, most programs have less to do than later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Its threads: their group, or their common name without its numbers.
    pub threads: String,
    /// How many of its threads waited for work at any time.
    pub takers: u64,
    /// How many there are.
    pub count: u64,
    /// How often they waited for work, at any time.
    pub waits: u64,
    /// How long they lived, in ns.
    pub lived_ns: u64,
    /// How long of that they waited for work, in ns.
    pub free_ns: u64,
    /// Where most of their waits for work were: the innermost frame outside of what queues are
    /// made of. Empty if the program has none there.
    pub place: String,
}

/// The pools of logs, in the order of their names. Other tools do not tell of short waits and of
/// those that have not ended, so that nobody seems to be free.
pub(super) fn find(logs: &[Recording], judged: &Withheld) -> Vec<Pool> {
    let is_whole = |log: &Recording| log.facts().format == event_log::INPUT.name;
    if !logs.iter().all(is_whole) {
        return Vec::new();
    }
    let mut pools: BTreeMap<String, PoolSums> = BTreeMap::new();
    for (run, log) in logs.iter().enumerate() {
        let names = Names(log);
        let (start_ns, end_ns) = (log.start_ns(), log.end_ns());
        let middle_ns = start_ns + end_ns.saturating_sub(start_ns) / 2;
        for waits in judged.work_waits((run, log)) {
            let pool = pools.entry(numberless(&names.thread(waits.thread))).or_default();
            pool.takers.insert((run, waits.thread));
            pool.groups.insert(thread_group(&names.thread(waits.thread)));
            pool.sums.waits = pool.sums.waits.saturating_add(waits.count);
            pool.sums.free_ns = pool.sums.free_ns.saturating_add(waits.late_ns);
            if let Some(site) = log.definitions().sites().get(waits.site) {
                let sum = pool.stacks.entry((run, site.stack)).or_default();
                *sum = sum.saturating_add(waits.count);
            }
        }
        for pending in log.pending().iter().filter(|it| judged.is_for_work((run, log), it.stack)) {
            let pool = pools.entry(numberless(&names.thread(pending.thread))).or_default();
            let free_ns = end_ns.saturating_sub(pending.start_ns.max(middle_ns));
            pool.sums.free_ns = pool.sums.free_ns.saturating_add(free_ns);
        }
        for (id, thread) in log.definitions().threads().iter() {
            let group = pools.get_mut(&numberless(&names.thread(id)));
            let Some((pool, (from_ns, to_ns))) = group.zip(life(log, id, thread)) else { continue };
            let lived_ns = to_ns.saturating_sub(from_ns.max(middle_ns));
            pool.sums.count += u64::from(lived_ns != 0);
            pool.sums.lived_ns = pool.sums.lived_ns.saturating_add(lived_ns);
        }
    }
    pools.into_iter().map(|(threads, pool)| pool.finish(threads, logs)).collect()
}

#[derive(Default)]
struct PoolSums {
    sums: Pool,
    /// By log and id.
    takers: BTreeSet<(usize, u32)>,
    /// Their groups.
    groups: BTreeSet<String>,
    /// How often they waited, by log and stack.
    stacks: BTreeMap<(usize, u32), u64>,
}

impl PoolSums {
    fn finish(self, threads: String, logs: &[Recording]) -> Pool {
        // Of equal ones the first.
        let most = self.stacks.into_iter().rev().max_by_key(|(_, count)| *count);
        let place = most.and_then(|((run, stack), _)| Some(names::place_in(logs.get(run)?, stack)));
        let place = place.filter(|place| !names::is_machinery(place)).unwrap_or_default();
        let mut groups = self.groups.into_iter();
        let threads = match (groups.next(), groups.next()) {
            (Some(group), None) => group,
            _ => threads,
        };
        Pool { threads, takers: self.takers.len() as u64, place, ..self.sums }
    }
}

/// So little of their time do threads wait for work that are never free.
const NEVER: f64 = 0.03;
/// Who waited less often may have got its only task.
const LEAST_WAITS: u64 = 2;

impl Pool {
    /// Whether a thread, or a group, is of these.
    pub fn has(&self, thread: &str) -> bool {
        numberless(thread) == numberless(&self.threads)
    }

    /// The share of their time in which threads waited for work.
    pub fn free_share(&self) -> f64 {
        self.free_ns as f64 / self.lived_ns.max(1) as f64
    }

    /// Whether several threads, which come back for work, hardly ever wait for it any more: what
    /// is to be done waits for them.
    pub fn is_never_free(&self) -> bool {
        let come_back = self.takers > 1 && self.waits >= LEAST_WAITS * self.takers;
        come_back && 2 * self.takers >= self.count && self.count > 1 && self.free_share() < NEVER
    }
}
