//! Entries shortly after another thread's exit: contention that just did not
//! happen. The rule of the first Tyrion, which took it for contention.

use super::shared::{cut, share};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, View,
    findings::{
        LockRef,
        near_misses::{Scan, ScanKey, Stats, are_told},
    },
    section::schema_of,
    view::{Column, Detail, Part, Row, Table, TableCell},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use tyrion_model::{harmless, units};

/// The section.
pub const SECTION: Section = Section {
    name: "near-misses",
    title: "Near misses",
    means: "How often a thread took a lock at once, shortly after another one had left it \
            (--near). Nobody waited; with more load, or more processors, they would.",
    advice: "Watch these locks when load grows. What already costs time is in `contended`.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<NearMisses>,
    answer,
};

/// What `--json` has of the section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NearMisses {
    /// The time after the exit within which an entry is a near miss.
    pub near_ns: u64,
    /// All locks together.
    pub totals: NearMissTotals,
    /// By lock and kind, the most near misses first.
    pub locks: Vec<NearMissLock>,
    /// How many more there are.
    pub left_out: usize,
}

/// All locks together, except those that only one thread took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NearMissTotals {
    /// How often locks were taken, counting only holds that have ended and were recorded.
    pub entries: u64,
    /// Near misses.
    pub near_misses: u64,
    /// Entries after a wait that was recorded. None of them is a near miss,
    /// however soon after the exit it was.
    pub contended: u64,
    /// Waits too short to be recorded one by one: at most this many of the near misses waited
    /// after all. With `--threshold 0` there are none.
    pub folded_waits: u64,
    /// Holds of objects that are not told apart, which are left out.
    pub unidentified: u64,
    /// Holds without a time of their own in the log, since they were written after later
    /// records; they are left out, so some near misses are not counted.
    pub untimed: u64,
}

/// Locks of one class and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NearMissLock {
    /// The locks.
    pub lock: LockRef,
    /// What kind of lock.
    pub kind: &'static str,
    /// How often they were taken.
    pub entries: u64,
    /// How many of these were near misses.
    pub near_misses: u64,
    /// `near_misses` as a share of `entries`.
    pub near_share: f64,
    /// Entries after a wait that was recorded.
    pub contended: u64,
    /// Waits too short to be recorded one by one; see the totals.
    pub folded_waits: u64,
    /// How many lock objects had near misses.
    pub instances: u64,
    /// The shortest time from an exit to a near miss.
    pub shortest_gap_ns: u64,
    /// Half of the times from an exit to a near miss were not longer; off by 3 %
    /// at most.
    pub p50_gap_ns: u64,
    /// Who released the lock and who took it next, by thread group; the most near misses first,
    /// five at most.
    pub pairs: Vec<NearMissPair>,
    /// Where both took the lock; the most near misses first, five at most.
    pub places: Vec<NearMissPlaces>,
}

/// Groups of threads that nearly met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearMissPair {
    /// The group of the threads that released the lock.
    pub left_by: String,
    /// The group of the threads that took it then.
    pub taken_by: String,
    /// How often.
    pub near_misses: u64,
}

/// Places that nearly met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearMissPlaces {
    /// Where the thread that released it had taken it.
    pub before: String,
    /// Where the next thread took it.
    pub after: String,
    /// How often.
    pub near_misses: u64,
}

/// The most pairs of threads and of places listed for each lock.
const PAIRS: usize = 5;

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let (found, lacking) = match &findings.near_misses {
        Some(scan) => (near_misses(scan, options), String::new()),
        None if are_told(findings.logs) => (NearMisses::default(), String::new()),
        None => {
            let lacking = "needs --mode trace --events all --hold all: only then does each hold \
                           have a record with its time";
            (NearMisses { near_ns: options.near_ns, ..NearMisses::default() }, lacking.to_owned())
        }
    };
    let json = serde_json::to_value(&found).unwrap_or_default();
    let view = if lacking.is_empty() { view(&found) } else { View::default() };
    Answer { json, view, lacking, advises: found.totals.near_misses != 0 }
}

fn near_misses(scan: &Scan, options: &ReportOptions) -> NearMisses {
    let mut totals = NearMissTotals {
        unidentified: scan.unidentified,
        untimed: scan.untimed,
        ..NearMissTotals::default()
    };
    for (key, stats) in &scan.locks {
        totals.entries += stats.entries;
        totals.near_misses += stats.near_misses;
        totals.contended += stats.contended;
        totals.folded_waits += scan.folded.get(key).copied().unwrap_or(0);
    }
    let with_some = scan.locks.iter().filter(|(_, stats)| stats.near_misses != 0);
    let mut with_some: Vec<&(ScanKey, Stats)> = with_some.collect();
    with_some.sort_by_key(|(key, stats)| (Reverse(stats.near_misses), key));
    let mut locks: Vec<NearMissLock> =
        with_some.into_iter().map(|(key, stats)| lock(key, stats, scan)).collect();
    let left_out = cut(&mut locks, options);
    NearMisses { near_ns: options.near_ns, totals, locks, left_out }
}

fn lock(key: &ScanKey, stats: &Stats, scan: &Scan) -> NearMissLock {
    let (class, name, kind) = key;
    let mut pairs: Vec<NearMissPair> = stats
        .threads
        .iter()
        .map(|((left_by, taken_by), &near_misses)| NearMissPair {
            left_by: left_by.clone(),
            taken_by: taken_by.clone(),
            near_misses,
        })
        .collect();
    pairs.sort_by_key(|pair| Reverse(pair.near_misses));
    pairs.truncate(PAIRS);
    let mut places: Vec<NearMissPlaces> = stats
        .places
        .iter()
        .map(|((before, after), &near_misses)| NearMissPlaces {
            before: before.clone(),
            after: after.clone(),
            near_misses,
        })
        .collect();
    places.sort_by_key(|places| Reverse(places.near_misses));
    places.truncate(PAIRS);
    let shortest_gap_ns = stats.shortest_ns.unwrap_or(0);
    NearMissLock {
        lock: LockRef { name: name.clone(), class: class.clone(), id: 0 },
        kind,
        entries: stats.entries,
        near_misses: stats.near_misses,
        near_share: share(stats.near_misses, stats.entries),
        contended: stats.contended,
        folded_waits: scan.folded.get(key).copied().unwrap_or(0),
        instances: stats.instances,
        shortest_gap_ns,
        p50_gap_ns: stats.gaps.quantile(0.5).unwrap_or(0).max(shortest_gap_ns),
        pairs,
        places,
    }
}

fn view(found: &NearMisses) -> View {
    let totals = &found.totals;
    let mut text = format!(
        "{} of {} entries into locks that several threads took came within {} after another \
         thread's exit, and did not wait; {} others did.",
        units::thousands(totals.near_misses),
        units::thousands(totals.entries),
        units::duration(found.near_ns),
        units::thousands(totals.contended),
    );
    if totals.folded_waits != 0 {
        text += &format!(
            " Up to {} of the near misses may have waited after all, too briefly to be recorded \
             one by one.",
            units::thousands(totals.folded_waits)
        );
    }
    if totals.untimed != 0 {
        text += &format!(
            " {} holds are left out, since the log does not say when they ended.",
            units::thousands(totals.untimed)
        );
    }
    let mut parts = vec![Part::Text(text)];
    if !found.locks.is_empty() {
        parts.push(Part::Table(table(found)));
    }
    View { parts }
}

fn table(found: &NearMisses) -> Table {
    Table {
        title: String::new(),
        columns: vec![
            Column::new("lock", "What the program calls it, and its class", 0),
            Column::new("kind", "What kind of lock", 3),
            Column::new("near misses", "Entries shortly after another thread's exit", 0),
            Column::new("share", "Of all entries", 0),
            Column::new("entries", "How often it was taken", 1),
            Column::new("contended", "Entries that waited, if recorded one by one", 0),
            Column::new("median gap", "From the exit to the entry", 0),
            Column::new("shortest", "From the exit to the entry", 2),
        ],
        rows: found.locks.iter().map(row).collect(),
        left_out: found.left_out,
    }
}

fn row(lock: &NearMissLock) -> Row {
    let pairs = lock.pairs.iter();
    let pairs = pairs.map(|it| {
        format!(
            "{} × {} left it, {} took it",
            units::thousands(it.near_misses),
            harmless::name(&it.left_by),
            harmless::name(&it.taken_by)
        )
    });
    let places = lock.places.iter();
    let places = places.map(|it| {
        let (before, after) = (harmless::name(&it.before), harmless::name(&it.after));
        format!("{} × {before}, then {after}", units::thousands(it.near_misses))
    });
    Row {
        cells: vec![
            TableCell::Text(lock.lock.label()),
            TableCell::Text(lock.kind.to_owned()),
            TableCell::Count(lock.near_misses),
            TableCell::Share(lock.near_share),
            TableCell::Count(lock.entries),
            TableCell::Count(lock.contended),
            TableCell::Ns(lock.p50_gap_ns),
            TableCell::Ns(lock.shortest_gap_ns),
        ],
        details: vec![
            Detail { title: "by whom".to_owned(), lines: pairs.collect() },
            Detail { title: "where".to_owned(), lines: places.collect() },
        ],
    }
}

#[cfg(test)]
mod tests;
