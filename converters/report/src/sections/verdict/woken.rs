//! Who ended the waits for a lock that nobody is known to have held, such as a latch of the
//! program's own.

use super::{
    super::{
        shared::share,
        withheld::{ALONE, WokenBy},
    },
    place::hottest_place,
};
use crate::{
    Findings,
    findings::{ChainEnd, LockRef, names, thread_group},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

/// A smaller share of the waits is not worth a sentence.
const LEAST: f64 = 0.25;
/// From this share on, most waits are for a thread in the end.
const MOST: f64 = 0.5;

/// Waits that the threads of a group ended.
#[derive(Default)]
struct EndedWaits {
    waits: u64,
    wait_ns: u64,
    /// By the stacks with which they were ended, the empty one where none was taken.
    stacks: HashMap<u32, u64>,
    /// By the thread that ended them.
    threads: BTreeMap<String, u64>,
}

/// Which threads ended most of the waits for a lock group, which took so long in all. The
/// place is that of most of the waits whose waker's stack was taken.
pub(super) fn by(findings: &Findings<'_>, group: u32, all_ns: u64) -> Option<WokenBy> {
    let ended = ended_by(findings, group, all_ns);
    let in_the_end = root(findings, group, all_ns);
    match (&ended, in_the_end) {
        (Some(by), Some(root)) if thread_group(&by.threads) != root.threads => Some(root),
        _ => ended,
    }
}

/// The threads that most of the waits are for in the end, if whoever ends them waits for others.
fn root(findings: &Findings<'_>, group: u32, all_ns: u64) -> Option<WokenBy> {
    let lock = LockRef { id: 0, ..findings.groups.lock_ref(group) };
    let mut roots: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let chains = findings.chains.chains.iter().filter(|it| it.end == ChainEnd::Runs);
    for chain in chains.filter(|it| it.steps.first().is_some_and(|step| step.lock == lock)) {
        let (waits, ns) = roots.entry(&chain.root).or_default();
        *waits = waits.saturating_add(chain.waits);
        *ns = ns.saturating_add(chain.wait_ns);
    }
    // Of equal ones the first by name.
    let (threads, (waits, wait_ns)) = roots.into_iter().rev().max_by_key(|(_, (_, ns))| *ns)?;
    let (threads, wait_share) = (threads.to_owned(), share(wait_ns, all_ns));
    (wait_share >= MOST && !threads.is_empty()).then(|| WokenBy {
        threads,
        waits,
        wait_ns,
        wait_share,
        ..WokenBy::default()
    })
}

fn ended_by(findings: &Findings<'_>, group: u32, all_ns: u64) -> Option<WokenBy> {
    let profile = findings.profile();
    let mut groups: BTreeMap<String, EndedWaits> = BTreeMap::new();
    let is_for_it = |kind, lock| findings.shows(kind) && findings.groups.of(lock) == group;
    for wake in profile.wakes.iter().filter(|wake| is_for_it(wake.kind, wake.lock)) {
        let thread = profile.thread_name(wake.thread);
        let ended = groups.entry(thread_group(&thread)).or_default();
        let of_thread = ended.threads.entry(thread).or_default();
        *of_thread = of_thread.saturating_add(wake.blamed_ns);
        ended.waits = ended.waits.saturating_add(wake.count);
        ended.wait_ns = ended.wait_ns.saturating_add(wake.blamed_ns);
        let of_stack = ended.stacks.entry(wake.stack).or_default();
        *of_stack = of_stack.saturating_add(wake.blamed_ns);
    }
    // Of equal ones the first by name.
    let (threads, mut ended) = groups.into_iter().rev().max_by_key(|(_, ended)| ended.wait_ns)?;
    ended.stacks.retain(|stack, _| !names::place(profile, *stack).is_empty());
    let wait_share = share(ended.wait_ns, all_ns);
    let at = hottest_place(findings, ended.stacks.clone()).map(|(place, _)| place);
    ended.stacks.retain(|stack, _| Some(names::place(profile, *stack)) == at);
    let hottest = ended.stacks.iter().max_by_key(|(stack, ns)| (**ns, Reverse(**stack)));
    let stack = hottest.map_or_else(Vec::new, |(stack, _)| names::stack(profile, *stack));
    // One that is unlike its group has its own name.
    let one = ended.threads.into_iter().rev().max_by_key(|(_, ns)| *ns);
    let one = one.filter(|(_, ns)| share(*ns, ended.wait_ns) >= ALONE);
    (wait_share >= LEAST).then_some(WokenBy {
        threads: one.map_or(threads, |(thread, _)| thread),
        at,
        waits: ended.waits,
        wait_ns: ended.wait_ns,
        wait_share,
        stack,
    })
}
