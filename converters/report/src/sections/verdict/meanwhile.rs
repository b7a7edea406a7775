//! What threads do while others wait for them.

use super::super::shared::share;
use crate::{
    Findings,
    findings::{names, numberless, thread_group},
};
use std::collections::BTreeMap;
use tyrion_model::profile::State;

/// A smaller share of what they do is not worth a sentence.
const LEAST: f64 = 0.25;

/// Where these threads mostly were when they had work, and the share of that time, from
/// samples, or else from the snapshots that nobody asked for. They are a group, or one thread.
pub(super) fn meanwhile(findings: &Findings<'_>, threads: &str) -> Option<(String, f64)> {
    let profile = findings.profile();
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |place: String, wall_ns: u64| {
        let sum = places.entry(place).or_default();
        *sum = sum.saturating_add(wall_ns);
    };
    let is_of = |thread: u32| {
        let name = profile.thread_name(thread);
        name == threads || thread_group(&name) == threads || numberless(&name) == threads
    };
    for sample in profile.samples.iter().filter(|it| it.state != State::Idle && is_of(it.thread)) {
        let frames = names::stack(profile, sample.stack);
        let own = || names::own_frame(profile, sample.stack).map(|at| names::frame(profile, at));
        add(findings.program.place(&frames).or_else(own).unwrap_or_default(), sample.wall_ns);
    }
    if !profile.has_samples {
        let at_work = findings.snapshots.of_threads(threads);
        for row in at_work.filter(|row| row.state != State::Idle) {
            let place = if row.own.is_empty() { &row.place } else { &row.own };
            add(place.clone(), row.wall_ns);
        }
    }
    let all_ns = places.values().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    let known = places.into_iter().filter(|(place, _)| !place.is_empty());
    // Of equal ones the first by name.
    let (place, ns) = known.rev().max_by_key(|(_, ns)| *ns)?;
    let part = share(ns, all_ns);
    (part >= LEAST).then_some((place, part))
}
