//! Waits for locks that are waits for work: nobody is kept from anything there.
//!
//! A semaphore may announce work to those who wait for it. And where threads take turns to wait
//! for what comes in, one has the lock meanwhile, and the others have as little to do as that
//! one.

use super::{groups::LockGroups, names};
use std::collections::{HashMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::Aggregate,
    profile::{BlameRow, Profile},
    states,
    withheld::Withheld,
};
use tyrion_wire::{WaitKind, slot::Pending};

/// From this share of what was seen of its holders on, they wait for what comes in.
const MOST: f64 = 0.75;

/// Which waits for locks are for work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForWork {
    /// By log: sites, and kinds and stacks of waits that have not ended.
    logs: Vec<OfLog>,
    /// Stacks and locks of the profile.
    rows: HashSet<(u32, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfLog {
    sites: HashSet<u32>,
    stacks: HashSet<(WaitKind, u32)>,
}

impl ForWork {
    pub(super) fn find(
        logs: &[Recording],
        aggregate: &Aggregate,
        groups: &LockGroups,
        judged: &Withheld,
    ) -> ForWork {
        let led = led(logs, aggregate, groups, judged);
        let mut all = ForWork::default();
        for (run, log) in logs.iter().enumerate() {
            let mut of_log = OfLog::default();
            let sites = log.definitions().sites().iter();
            for (id, site) in sites.filter(|(_, site)| site.kind.is_contention()) {
                let row = aggregate.ids.get(run).and_then(|ids| ids.site(id));
                let is_led = row.is_some_and(|(_, lock, _)| led.contains(&groups.of(lock)));
                if is_led || judged.announces_work(run, id) {
                    of_log.sites.insert(id);
                    of_log.stacks.insert((site.kind, site.stack));
                    all.rows.extend(row.map(|(stack, lock, _)| (stack, lock)));
                }
            }
            all.logs.push(of_log);
        }
        all
    }

    /// Whether the waits at a site of the `run`-th log are.
    pub fn is_site(&self, run: usize, site: u32) -> bool {
        self.logs.get(run).is_some_and(|of_log| of_log.sites.contains(&site))
    }

    /// Whether the waits with a stack for a lock are, by their ids in the profile.
    pub fn is_row(&self, stack: u32, lock: u32) -> bool {
        self.rows.contains(&(stack, lock))
    }

    /// Whether waits of a kind with a stack of the `run`-th log are.
    pub fn is_stack(&self, run: usize, kind: WaitKind, stack: u32) -> bool {
        self.logs.get(run).is_some_and(|of_log| of_log.stacks.contains(&(kind, stack)))
    }

    /// Whether a wait of `log`, the `run`-th, that has not ended is.
    pub fn is_pending(
        &self,
        (run, log): (usize, &Recording),
        pending: &Pending,
        judged: &Withheld,
    ) -> bool {
        // A loop that waits for a permit from its beginning to the end has never got any. But
        // where each thread has a semaphore of its own, it waits for an answer.
        let is_own = || {
            let same = log.pending().iter().filter(|it| it.stack == pending.stack);
            same.clone().count() > 1 && same.filter(|it| it.lock == pending.lock).count() == 1
        };
        let is_never_called = || {
            pending.kind == WaitKind::Semaphore
                && !is_own()
                && judged.is_loop((run, log), pending.stack)
                && judged.is_never_called((run, log), pending)
        };
        self.is_stack(run, pending.kind, pending.stack) || is_never_called()
    }
}

/// What looks have found of the holders of a group of locks.
#[derive(Default)]
struct LookedAt {
    seen_ns: u64,
    /// For how long of that they waited for what comes in.
    waited_ns: u64,
    /// The methods that had it then.
    methods: HashSet<String>,
}

/// The groups of locks that threads take in turns, to wait for what comes in.
fn led(
    logs: &[Recording],
    aggregate: &Aggregate,
    groups: &LockGroups,
    judged: &Withheld,
) -> HashSet<u32> {
    let profile = &aggregate.profile;
    let mut of_groups: HashMap<u32, LookedAt> = HashMap::new();
    let looks = profile.blames.iter().filter(|row| profile.is_blame_sampled && row.free_ns == 0);
    for row in looks {
        let holders = of_groups.entry(groups.of(row.lock)).or_default();
        holders.seen_ns = holders.seen_ns.saturating_add(row.blamed_ns);
        if takes_input(profile, row) {
            holders.waited_ns = holders.waited_ns.saturating_add(row.blamed_ns);
            holders.methods.insert(method(&names::holder_place(profile, row.stack, row.above)));
        }
    }
    of_groups.retain(|_, holders| {
        holders.waited_ns != 0 && holders.waited_ns as f64 >= MOST * holders.seen_ns as f64
    });
    let is_turn = |group: u32, holders: &LookedAt| {
        let mut sites = logs.iter().enumerate().flat_map(|(run, log)| {
            let sites = log.definitions().sites().iter();
            sites.map(move |(id, site)| ((run, log), id, site))
        });
        sites.all(|((run, log), id, site)| {
            let row = aggregate.ids.get(run).and_then(|ids| ids.site(id));
            let row = row.filter(|(_, lock, _)| groups.of(*lock) == group);
            let is_same = |stack| holders.methods.contains(&method(&names::place(profile, stack)));
            row.is_none_or(|(stack, ..)| judged.is_loop((run, log), site.stack) && is_same(stack))
        })
    };
    let led = of_groups.iter().filter(|(group, holders)| is_turn(**group, holders));
    led.map(|(group, _)| *group).collect()
}

/// Whether who was seen with a lock waited for what comes in.
fn takes_input(profile: &Profile, row: &BlameRow) -> bool {
    let frames = profile.frames_of(row.stack);
    let functions = frames.filter_map(|at| profile.functions.get(at.function as usize));
    let names: Vec<(&str, &str)> =
        functions.map(|it| (it.class.as_str(), it.method.as_str())).collect();
    states::takes_input(&names)
}

/// `com.acme.Foo.bar` of `com.acme.Foo.bar(Foo.java:12)`.
fn method(frame: &str) -> String {
    frame.split('(').next().unwrap_or_default().to_owned()
}
