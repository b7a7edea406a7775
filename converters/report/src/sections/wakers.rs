//! Who ends the waits of others.

#[cfg(test)]
mod tests;
mod view;

use super::{
    charged::{ChargedWaits, Charges, PlaceNames},
    shared::cut,
};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, findings::thread_group,
    section::schema_of,
};
use schemars::JsonSchema;
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
    in_brief: InBrief::Never,
    schema: schema_of::<Wakers>,
    answer,
};

/// The answer.
///
/// Recorded by default (the agent's option `wakers`), for waits of 100 µs and more, with the
/// waker's stack from 1 ms on; [event-log.md](event-log.md#who-ended-a-wait) says which waits
/// have a waker. Unless sections are selected, this one is shown if any waker is known. It
/// covers the kinds of waits that the filter selects: with `--kind all` also waits for queues,
/// conditions and latches, and in trace mode `Object.wait`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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

/// Waits at one place in the code that threads of one group ended, at one place of theirs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WakerPair {
    /// The waits.
    #[serde(flatten)]
    pub charged: ChargedWaits,
    /// The group of the threads that ended the waits.
    pub wakers: String,
    /// Where they were when they ended the waits: likewise the innermost frame outside
    /// `java.util.concurrent`; null if no stack was taken.
    pub waker: Option<String>,
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

/// A place where threads wait, and who ends these waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WakerKey {
    waiter: String,
    /// The group of the wakers.
    wakers: String,
    /// Their place.
    waker: Option<String>,
    /// The lock's group.
    group: u32,
    kind: WaitKind,
}

/// Who ends waits.
pub fn wakers(findings: &Findings<'_>, options: &ReportOptions) -> Wakers {
    let profile = findings.profile();
    let (waits, wait_ns) = profile.totals();
    let (mut places, mut groups) = (PlaceNames::new(findings), HashMap::new());
    let mut group = |thread: u32| -> String {
        let name = || thread_group(&profile.thread_name(thread));
        groups.entry(thread).or_insert_with(name).clone()
    };
    let mut pairs: BTreeMap<WakerKey, Charges> = BTreeMap::new();
    let (mut known_waits, mut known_ns) = (0u64, 0u64);
    for wake in &profile.wakes {
        known_waits = known_waits.saturating_add(wake.count);
        known_ns = known_ns.saturating_add(wake.blamed_ns);
        let key = WakerKey {
            waiter: places.of(wake.waiter_stack),
            wakers: group(wake.thread),
            waker: Some(places.of(wake.stack)).filter(|place| !place.is_empty()),
            group: findings.groups.of(wake.lock),
            kind: wake.kind,
        };
        let stacks = (wake.waiter_stack, wake.stack);
        pairs.entry(key).or_default().add(wake.count, wake.blamed_ns, stacks);
    }
    let mut out = Wakers { waits, wait_ns, known_waits, known_ns, ..Wakers::default() };
    out.pairs = pairs.len() as u64;
    out.code = pairs
        .into_iter()
        .map(|(key, charges)| waker_pair(findings, key, charges, known_ns))
        .collect();
    // Stable, so that equal ones stay in the order of names.
    out.code.sort_by_key(|pair| Reverse(pair.charged.wait_ns));
    cut(&mut out.code, options);
    out
}

fn waker_pair(
    findings: &Findings<'_>,
    key: WakerKey,
    charges: Charges,
    known_ns: u64,
) -> WakerPair {
    let WakerKey { waiter, wakers, waker, group, kind } = key;
    let (charged, waker_stack) = charges.finish(findings, (waiter, group, kind), known_ns);
    WakerPair { charged, wakers, waker, waker_stack }
}
