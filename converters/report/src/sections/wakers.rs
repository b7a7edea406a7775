//! Who ends the waits of others.

#[cfg(test)]
mod tests;
mod view;

use super::shared::{cut, share};
use crate::{
    About, Answer, Findings, ReportOptions, Section,
    findings::{LockRef, names, thread_group},
};
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "wakers",
    title: "Who ends waits",
    means: "Which threads, and which code, ended the waits of others: by releasing a lock, or by \
            providing what they waited for.",
    advice: "The waiter waits for what the waker does until it ends the wait: start that earlier, \
             or make it shorter.",
    about: About::Wakers,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Wakers {
    /// How many waits there were of the kinds that the filter selects. A filter on
    /// threads selects waiters here, but wakers in the fields below.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// For how many of them the waker is known.
    pub known_waits: u64,
    /// The durations of those added up, in ns.
    pub known_ns: u64,
    /// How many pairs of a place and a waker there are.
    pub pairs: u64,
    /// By place in the code and waker, most wait first.
    pub code: Vec<WakerPair>,
}

/// Waits at a place in the code that were ended by a group of threads at a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WakerPair {
    /// Where the thread waited: the innermost frame outside of `java.util.concurrent`.
    pub waiter: String,
    /// The group of the threads that ended the waits.
    pub wakers: String,
    /// Where they were when they ended the waits; null if no stack was taken.
    pub waker: Option<String>,
    /// What the thread waited for.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The share of all wait for which the waker is known.
    pub wait_share: f64,
    /// The whole stack at the waiter's place with the most wait, innermost frame
    /// first.
    pub waiter_stack: Vec<String>,
    /// The waker's stack that goes with it; empty if none was taken.
    pub waker_stack: Vec<String>,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let wakers = wakers(findings, options);
    Answer {
        json: serde_json::to_value(&wakers).unwrap_or_default(),
        view: view::view(&wakers, findings),
        lacking: lacking(findings).to_owned(),
        advises: wakers.pairs != 0,
    }
}

fn lacking(findings: &Findings<'_>) -> &'static str {
    match findings.profile().has_wakers {
        true => "",
        false => "the logs do not say who ended waits: record with the agent's option wakers=true",
    }
}

/// The waiter's place, the group of the wakers, their place, lock group and kind.
type Key = (String, String, Option<String>, u32, WaitKind);

/// Waits, and the stacks that they come from.
#[derive(Clone, Debug, Default)]
struct Pair {
    waits: u64,
    wait_ns: u64,
    /// By the stacks of waiter and waker.
    stacks: BTreeMap<(u32, u32), u64>,
}

/// Who ends waits.
pub fn wakers(findings: &Findings<'_>, options: &ReportOptions) -> Wakers {
    let profile = findings.profile();
    let (waits, wait_ns) = profile.totals();
    let (mut places, mut groups) = (HashMap::new(), HashMap::new());
    let mut place = |stack: u32| -> String {
        places.entry(stack).or_insert_with(|| names::place(profile, stack)).clone()
    };
    let mut group = |thread: u32| -> String {
        let name = || thread_group(&profile.thread_name(thread));
        groups.entry(thread).or_insert_with(name).clone()
    };
    let mut pairs: BTreeMap<Key, Pair> = BTreeMap::new();
    let (mut known_waits, mut known_ns) = (0u64, 0u64);
    for wake in &profile.wakes {
        known_waits = known_waits.saturating_add(wake.count);
        known_ns = known_ns.saturating_add(wake.blamed_ns);
        let waker = Some(place(wake.stack)).filter(|place| !place.is_empty());
        let lock = findings.groups.of(wake.lock);
        let key = (place(wake.waiter_stack), group(wake.thread), waker, lock, wake.kind);
        let pair = pairs.entry(key).or_default();
        pair.waits = pair.waits.saturating_add(wake.count);
        pair.wait_ns = pair.wait_ns.saturating_add(wake.blamed_ns);
        let of_stacks = pair.stacks.entry((wake.waiter_stack, wake.stack)).or_default();
        *of_stacks = of_stacks.saturating_add(wake.blamed_ns);
    }
    let mut out = Wakers { waits, wait_ns, known_waits, known_ns, ..Wakers::default() };
    out.pairs = pairs.len() as u64;
    out.code = pairs.into_iter().map(|pair| waker_pair(findings, pair, known_ns)).collect();
    // Stable, so that equal ones stay in the order of names.
    out.code.sort_by_key(|pair| Reverse(pair.wait_ns));
    cut(&mut out.code, options);
    out
}

fn waker_pair(
    findings: &Findings<'_>,
    ((waiter, wakers, waker, lock, kind), pair): (Key, Pair),
    known_ns: u64,
) -> WakerPair {
    let profile = findings.profile();
    let hottest = pair.stacks.iter().max_by_key(|(stacks, ns)| (**ns, Reverse(**stacks)));
    let (waiter_stack, waker_stack) = hottest.map_or((0, 0), |(stacks, _)| *stacks);
    WakerPair {
        waiter,
        wakers,
        waker,
        lock: findings.groups.lock_ref(lock),
        kind: kind.name(),
        waits: pair.waits,
        wait_ns: pair.wait_ns,
        wait_share: share(pair.wait_ns, known_ns),
        waiter_stack: names::stack(profile, waiter_stack),
        waker_stack: names::stack(profile, waker_stack),
    }
}
