//! Cycles in the order in which threads nest locks: deadlocks that have not
//! happened yet.
//!
//! Each record of nesting says which locks a thread held when it took another
//! one: an edge from each of those to that. A cycle of edges is told if there is
//! one record for each edge such that all of them can be at the same point at
//! the same time; see [`search`]. Not asked is whether the threads ever ran at
//! the same time. A lock that was only tried (`tryLock`) is nothing to wait for for ever, so
//! its edges are left out; logs of earlier agents do not tell that.

mod components;
mod describer;
mod graph;
mod search;
mod show;
mod stacks;
mod walk;

use super::shared::cut;
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, findings::LockRef,
    section::schema_of, view::Part,
};
use describer::Describer;
use schemars::JsonSchema;
use serde::Serialize;
use show::view;
use std::cmp::Reverse;

/// The section.
pub const SECTION: Section = Section {
    name: "lock-order",
    title: "Lock order",
    means: "Locks that threads take within each other in a ring: each thread could hold one and \
            wait for the next, for ever. still-waiting shows where it has happened.",
    advice: "Take these locks in the same order everywhere, or one lock before all of them.",
    about: About::Locks,
    in_brief: InBrief::IfAdvised,
    schema: schema_of::<LockOrder>,
    answer,
};

/// What `--json` has of the section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockOrder {
    /// Possible deadlocks, those of the fewest locks first. Cycles of other
    /// instances of the same classes, taken at the same places, are one entry.
    pub cycles: Vec<Cycle>,
    /// How many more there are.
    pub left_out: usize,
    /// Cycles that cannot become a deadlock, and why.
    pub harmless: Vec<Harmless>,
    /// How many more of those there are.
    pub harmless_left_out: usize,
    /// Locks that were held while others were taken, or that were taken while others were held.
    pub locks: usize,
    /// Pairs of locks of which one was taken while the other was held, and not only tried
    /// (`tryLock`): nobody waits for that for ever. Logs of earlier agents do not tell which
    /// were.
    pub edges: usize,
    /// Records that they come from.
    pub nestings: u64,
    /// Records without information, since the agent did not know yet which instance was taken,
    /// or held. (The next time, it does.)
    pub unidentified: u64,
    /// Whether all cycles of up to six locks were looked at. Where there are none of these, the
    /// shortest longer one is looked for.
    pub complete: bool,
}

/// A possible deadlock, and others like it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cycle {
    /// How many locks, and threads, the example has.
    pub locks: usize,
    /// How many cycles there are of the same classes and places. (Of cycles longer than six
    /// locks, not all are counted.)
    pub cycles: u64,
    /// How many locks the longest of them has.
    pub longest: usize,
    /// Whether instances were not told apart, so that locks go by class and name: then it is
    /// not known whether they are the same objects.
    pub by_name: bool,
    /// One of the shortest, edge by edge: the inner lock of each is the outer one of the next,
    /// and the inner lock of the last is the outer one of the first.
    pub edges: Vec<Edge>,
}

/// A lock that was taken while another one was held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Edge {
    /// The log, as the user named it.
    pub log: String,
    /// The thread. Those of a cycle's edges are all different.
    pub thread: String,
    /// How many threads took these two locks in this order.
    pub threads: usize,
    /// The lock that it held.
    pub outer: OrderedLock,
    /// The lock that it took then, or began to wait for.
    pub inner: OrderedLock,
    /// Where it had taken the outer lock. This is the part of `inner_stack` from
    /// the frame of the outer place's method outwards, with the place's line.
    pub outer_stack: Vec<String>,
    /// Whether that frame was found. If not, `outer_stack` is the place alone.
    pub outer_stack_known: bool,
    /// Where it took the inner lock, or began to wait for it.
    pub inner_stack: Vec<String>,
    /// What else it held. No two edges of a cycle have a lock in common here, except those that
    /// both held as readers.
    pub also_held: Vec<OrderedLock>,
    /// When it was seen first, after the log's start.
    pub first_ns: u64,
}

/// A lock as a place of the program takes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OrderedLock {
    /// The lock. It has an `id` if a thread ever waited for it.
    pub lock: LockRef,
    /// Its identity hash, 0 when unknown.
    pub hash: u32,
    /// What kind of lock: `monitor`, `lock`, `lock-read`, `lock-write` or
    /// `semaphore`.
    pub kind: &'static str,
    /// Where the program takes it.
    pub place: String,
}

/// A cycle that cannot become a deadlock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Harmless {
    /// Why: `gate`, all threads that take its locks hold a lock that lets one pass at a time;
    /// or `one-thread`, a single thread took all of them in both orders.
    pub reason: &'static str,
    /// The gates.
    pub gates: Vec<LockRef>,
    /// The only thread, or else empty.
    pub thread: String,
    /// The locks of one of the shortest such cycles.
    pub locks: Vec<OrderedLock>,
    /// How many cycles there are of the same classes and places.
    pub cycles: u64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let found = lock_order(findings, options);
    let json = serde_json::to_value(&found).unwrap_or_default();
    let advises = !found.cycles.is_empty();
    let mut view = view(&found);
    if findings.has_bursts() {
        view.parts.push(Part::Text(IN_BURSTS.to_owned()));
    }
    Answer { json, view, lacking: lacking(findings), advises }
}

/// What follows from bursts.
const IN_BURSTS: &str = "Some places were counted in bursts (count=adaptive): orders of locks that \
                         occurred there only between the bursts are missing.";

fn lacking(findings: &Findings<'_>) -> String {
    let traced = || findings.logs.iter().filter(|log| log.is_trace());
    if traced().next().is_none() {
        "needs --mode trace: only then is it recorded which locks are taken within others"
            .to_owned()
    } else if traced().any(graph::is_by_name) {
        "needs --identity true: without it, all locks of a class and name count as one".to_owned()
    } else {
        String::new()
    }
}

/// Finds the cycles.
pub fn lock_order(findings: &Findings<'_>, options: &ReportOptions) -> LockOrder {
    let order = graph::order(findings.logs, &findings.trace);
    let found = search::search(&order.graph);
    let describer = Describer::new(findings, &order);
    let mut cycles: Vec<Cycle> = found
        .patterns
        .values()
        .filter(|pattern| describer.is_wanted(pattern))
        .map(|pattern| describer.cycle(pattern))
        .collect();
    let label = |lock: &OrderedLock| lock.lock.label();
    cycles.sort_by_cached_key(|it| {
        let names: Vec<String> = it.edges.iter().map(|edge| label(&edge.outer)).collect();
        (it.by_name, it.locks, Reverse(it.cycles), names)
    });
    let mut harmless: Vec<Harmless> = found
        .harmless
        .iter()
        .filter(|(_, pattern)| describer.is_wanted(pattern))
        .map(|((_, reason), pattern)| describer.harmless(reason, pattern))
        .collect();
    harmless.sort_by_cached_key(|it| {
        let names: Vec<String> = it.locks.iter().map(label).collect();
        (it.reason, it.locks.len(), Reverse(it.cycles), names)
    });
    let (left_out, harmless_left_out) = (cut(&mut cycles, options), cut(&mut harmless, options));
    LockOrder {
        cycles,
        left_out,
        harmless,
        harmless_left_out,
        locks: order.nodes.len(),
        edges: order.graph.edges.len(),
        nestings: order.nestings,
        unidentified: order.unidentified,
        complete: found.complete,
    }
}

#[cfg(test)]
mod tests;
