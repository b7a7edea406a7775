//! Places in the code.

use crate::{Findings, findings::names};
use std::collections::BTreeMap;

/// The place with the most wait, and how much that is.
pub(super) fn hottest_place(
    findings: &Findings<'_>,
    stacks: impl IntoIterator<Item = (u32, u64)>,
) -> Option<(String, u64)> {
    hottest(stacks.into_iter().map(|(stack, ns)| (names::place(findings.profile(), stack), ns)))
}

/// The one of these with the most, and how much.
pub(super) fn hottest(all: impl IntoIterator<Item = (String, u64)>) -> Option<(String, u64)> {
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for (place, ns) in all {
        let sum = places.entry(place).or_default();
        *sum = sum.saturating_add(ns);
    }
    // The first by name of equal ones.
    places.into_iter().rev().max_by_key(|(_, ns)| *ns)
}
