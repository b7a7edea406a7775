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
    findings::{names, thread_group},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

/// A smaller share of the waits is not worth a sentence.
const LEAST: f64 = 0.25;

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
