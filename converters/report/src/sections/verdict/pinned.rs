//! Virtual threads that wait and keep their carriers, so that others cannot run.

use super::super::shared::share;
use crate::{
    Findings,
    findings::{SnapshotRow, processors},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tyrion_formats::Recording;

/// From this share of the carriers on, pinned ones are what a program lacks.
const MUCH: f64 = 0.5;
/// The JVM's option that says how many carriers there are.
const CARRIERS: &str = "-Djdk.virtualThreadScheduler.parallelism=";

/// Virtual threads that waited while they kept their carriers, as snapshots of all threads
/// show: before JDK 24 within `synchronized`, and in all JDKs with native frames on the stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Pinned {
    /// How many carriers there are for virtual threads.
    pub carriers: u64,
    /// How many of them were kept on average.
    pub pinned: f64,
    /// Where most of the virtual threads waited: the innermost frame that is not the JDK's.
    pub place: String,
    /// The innermost frame of the program's own code there. Empty if that is `place`, or if
    /// there is none, or none is known.
    pub own_place: String,
    /// The share of the pinned time that is there.
    pub place_share: f64,
    /// How long carriers were kept in all, in ns.
    #[serde(skip)]
    pub wall_ns: u64,
}

/// How many carriers are pinned, if that is half of them or more.
pub(super) fn find(findings: &Findings<'_>) -> Option<Pinned> {
    let carriers = findings.logs.iter().filter_map(carriers).min()?;
    let mut places: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut all_ns = 0u64;
    for SnapshotRow { place, own, wall_ns, .. } in findings.snapshots.pinned() {
        let sum = places.entry((place, own)).or_default();
        *sum = sum.saturating_add(*wall_ns);
        all_ns = all_ns.saturating_add(*wall_ns);
    }
    let pinned = all_ns as f64 / findings.axis.duration_ns.max(1) as f64;
    // Of equal ones the first by name.
    let ((place, own), ns) = places.into_iter().rev().max_by_key(|(_, ns)| *ns)?;
    (pinned >= MUCH * carriers as f64).then(|| Pinned {
        carriers,
        pinned,
        place: place.to_owned(),
        own_place: match own.split(" < ").next() {
            Some(own) if own != place => own.to_owned(),
            _ => String::new(),
        },
        place_share: share(ns, all_ns),
        wall_ns: all_ns,
    })
}

/// How many carriers a JVM has: as many as processors, unless an option says otherwise.
fn carriers(log: &Recording) -> Option<u64> {
    let flags = log.facts().metadata("jvm-flags").unwrap_or_default();
    let mut asked = flags.split_whitespace().filter_map(|flag| flag.strip_prefix(CARRIERS));
    asked.next_back().and_then(|count| count.parse().ok()).or_else(|| processors(log))
}
