//! Two series of thread dumps: how many threads waited for what before and after. There are
//! no durations to compare.

use crate::{
    Findings, View,
    sections::dumps::{DumpFindings, are_dumps, brief, dump_findings},
    view::{Column, Part, Row, Table, TableCell},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `tyrion diff --json` prints of thread dumps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DumpDocument<'d> {
    /// The version that compared.
    pub tyrion: &'static str,
    /// The version of what this is: 1.
    pub schema: u32,
    /// What changed.
    #[serde(flatten)]
    pub diff: &'d DumpDiff,
}

/// What changed from one series of dumps to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpDiff {
    /// How many dumps there are before.
    pub dumps_before: u64,
    /// How many after.
    pub dumps_after: u64,
    /// What threads wait for and do, the largest changes first.
    pub changes: Vec<DumpChange>,
}

/// How many threads do something before and after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpChange {
    /// `deadlock`, `lock`, `pool`, `wait`, or `state`.
    pub what: &'static str,
    /// The lock and where it is waited for, the place, or the state.
    pub name: String,
    /// How many threads before, in the dump with the most; of states in the last dump.
    pub before: u64,
    /// The same after.
    pub after: u64,
}

/// Compares two sides; `None` if one is no series of dumps.
pub fn dump_diff(before: &Findings<'_>, after: &Findings<'_>) -> Option<DumpDiff> {
    if !are_dumps(before) || !are_dumps(after) {
        return None;
    }
    let (before, after) = (dump_findings(before)?, dump_findings(after)?);
    let mut changes: BTreeMap<(&'static str, String), (u64, u64)> = BTreeMap::new();
    for (key, count) in counts(&before) {
        let change = changes.entry(key).or_default();
        change.0 = change.0.max(count);
    }
    for (key, count) in counts(&after) {
        let change = changes.entry(key).or_default();
        change.1 = change.1.max(count);
    }
    let row = |((what, name), (before, after))| DumpChange { what, name, before, after };
    let mut changes: Vec<DumpChange> = changes.into_iter().map(row).collect();
    let rank = |what: &str| usize::from(what == "state");
    changes.sort_by_key(|it| (rank(it.what), std::cmp::Reverse(it.before.abs_diff(it.after))));
    Some(DumpDiff { dumps_before: before.dumps, dumps_after: after.dumps, changes })
}

fn counts(found: &DumpFindings) -> Vec<((&'static str, String), u64)> {
    let mut all = Vec::new();
    for deadlock in &found.deadlocks {
        let classes: Vec<&str> = deadlock.threads.iter().map(|it| it.class.as_str()).collect();
        all.push((("deadlock", classes.join(", ")), deadlock.threads.len() as u64));
    }
    for lock in &found.blocked {
        let name = if lock.name.is_empty() { &lock.class } else { &lock.name };
        let place = lock.places.first().map_or_else(String::new, |place| brief(place));
        all.push((("lock", format!("{name} in {place}")), lock.most_waiters));
    }
    for crowd in &found.crowds {
        let what = if crowd.is_pool { "pool" } else { "wait" };
        let most = crowd.per_dump.iter().copied().max().unwrap_or(0);
        all.push(((what, brief(&crowd.place)), most));
    }
    all.extend(found.states.iter().map(|row| (("state", row.state.to_owned()), row.threads)));
    all
}

/// The comparison for eyes; `top` rows at most, 0 for all.
pub fn dump_view(diff: &DumpDiff, top: usize) -> View {
    let columns = vec![
        Column::new("threads", "What threads wait for, or their state", 0),
        Column::new("name", "The lock, the place, the state", 0),
        Column::new("before", "How many threads, in the dump with the most", 0),
        Column::new("after", "The same after", 0),
    ];
    let shown = if top == 0 { diff.changes.len() } else { diff.changes.len().min(top) };
    let rows = diff.changes.iter().take(shown).map(|it| Row {
        cells: vec![
            TableCell::Text(it.what.to_owned()),
            TableCell::name(&it.name),
            TableCell::Count(it.before),
            TableCell::Count(it.after),
        ],
        details: Vec::new(),
    });
    let left_out = diff.changes.len() - shown;
    let table = Table { title: String::new(), columns, rows: rows.collect(), left_out };
    let dumps = format!("Dumps: {} before, {} after.", diff.dumps_before, diff.dumps_after);
    View { parts: vec![Part::Text(dumps), Part::Table(table)] }
}
