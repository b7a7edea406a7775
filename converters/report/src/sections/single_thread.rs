//! Locks that one thread only ever took: what could lose its lock.
//!
//! Trace mode tells which thread took which instance, and counts acquisitions
//! by thread, place and class of the lock. So whether a counted acquisition was
//! of such an instance is known where all instances of that class that its
//! thread took are alike: all its own, or none.

mod instances;

use super::shared::{count, count_within, cut, ns, within};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, View,
    findings::{LockRef, names},
    section::schema_of,
    view::{Column, Part, Row, Table, TableCell},
};
use instances::{Instances, Whose};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_formats::Recording;

/// The section.
pub const SECTION: Section = Section {
    name: "single-thread",
    title: "Locks used by one thread only",
    means: "Lock objects that no second thread took while the program was recorded, by class and \
            by place in the program.",
    advice: "Where no lock of a class is ever shared, use an unsynchronized version of the class, \
             or no lock at all.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<SingleThread>,
    answer,
};

/// What `--json` has of the section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SingleThread {
    /// All locks together.
    pub totals: SingleThreadTotals,
    /// By class, name, kind and place, if there are locks of one thread: those with the most
    /// acquisitions of such locks first. (Acquisitions for which this is not known count in
    /// proportion to the objects of one thread.)
    pub places: Vec<SingleThreadPlace>,
    /// How many more there are.
    pub left_out: usize,
}

/// All locks together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SingleThreadTotals {
    /// Lock objects that are told apart.
    pub instances: u64,
    /// Those that only one thread took.
    pub private_instances: u64,
    /// Those that several threads took.
    pub shared_instances: u64,
    /// Those that only virtual threads took. Virtual threads are not told apart: these may be
    /// of one thread each, or shared.
    pub virtual_instances: u64,
    /// How often locks were taken. `null` when that was not counted.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// How many of these were certainly of locks that one thread used.
    pub private_acquisitions: Option<u64>,
    /// The standard error of that.
    pub private_acquisitions_error: Option<u64>,
    /// For how many it is not known, since their thread took locks of that class that are
    /// shared and others that are not, or some that are not told apart.
    pub unknown_acquisitions: Option<u64>,
    /// The standard error of that.
    pub unknown_acquisitions_error: Option<u64>,
    /// How long locks of one thread were held, in the acquisitions that certainly were of such
    /// locks.
    pub private_hold_ns: Option<u64>,
    /// Acquisitions of objects that the agent had no room to tell apart.
    pub unidentified: u64,
}

/// Locks of one class and name that are taken at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SingleThreadPlace {
    /// Their class and name.
    pub lock: LockRef,
    /// What kind of lock.
    pub kind: &'static str,
    /// Where the program takes them: `com.acme.Foo.bar(Foo.java:12)`.
    pub place: String,
    /// Lock objects that some thread took here before taking them elsewhere.
    pub instances: u64,
    /// Those of them that only one thread took.
    pub private_instances: u64,
    /// Those of them that several threads took.
    pub shared_instances: u64,
    /// How many threads the private ones belong to.
    pub threads: u64,
    /// Whether no lock of this class at all was taken by two threads, as far as
    /// can be told: then all acquisitions are private.
    pub whole_class: bool,
    /// How often locks were taken here. `null` when that was not counted.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// How many of these were certainly of locks that one thread used.
    pub private_acquisitions: Option<u64>,
    /// The standard error of that.
    pub private_acquisitions_error: Option<u64>,
    /// For how many it is not known; see the totals.
    pub unknown_acquisitions: Option<u64>,
    /// The standard error of that.
    pub unknown_acquisitions_error: Option<u64>,
    /// How long locks taken here were held, measured or estimated. `null` when
    /// that was not measured.
    pub hold_ns: Option<u64>,
    /// The same for the acquisitions that certainly were of locks of one thread.
    pub private_hold_ns: Option<u64>,
}

impl SingleThreadPlace {
    /// Acquisitions of locks of one thread, and of those of which it is not
    /// known as large a share as such locks have: what places are ordered by.
    fn likely_acquisitions(&self) -> u64 {
        let unknown = u128::from(self.unknown_acquisitions.unwrap_or(0));
        let (private, all) = (u128::from(self.private_instances), u128::from(self.instances));
        let likely = (unknown * private).checked_div(all).unwrap_or(0);
        let certain = self.private_acquisitions.unwrap_or(0);
        certain.saturating_add(u64::try_from(likely).unwrap_or(u64::MAX))
    }
}

/// What tells places apart: the lock that is taken there, and where that is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlaceKey {
    class: String,
    name: String,
    kind: &'static str,
    place: String,
}

/// What was counted at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PlaceCounts {
    acquisitions: u64,
    acquisitions_error: u64,
    private_acquisitions: u64,
    private_acquisitions_error: u64,
    unknown_acquisitions: u64,
    unknown_acquisitions_error: u64,
    hold_ns: u64,
    private_hold_ns: u64,
}

impl PlaceCounts {
    fn add(&mut self, other: &PlaceCounts) {
        for (sum, value) in [
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.acquisitions_error, other.acquisitions_error),
            (&mut self.private_acquisitions, other.private_acquisitions),
            (&mut self.private_acquisitions_error, other.private_acquisitions_error),
            (&mut self.unknown_acquisitions, other.unknown_acquisitions),
            (&mut self.unknown_acquisitions_error, other.unknown_acquisitions_error),
            (&mut self.hold_ns, other.hold_ns),
            (&mut self.private_hold_ns, other.private_hold_ns),
        ] {
            *sum = sum.saturating_add(value);
        }
    }
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let found = single_thread(findings, options);
    let json = serde_json::to_value(&found).unwrap_or_default();
    let advises = !found.places.is_empty();
    let mut view = view(&found);
    if !view.parts.is_empty() && findings.has_bursts() {
        view.parts.push(Part::Text(IN_BURSTS.to_owned()));
    }
    Answer { json, view, lacking: lacking(findings), advises }
}

fn lacking(findings: &Findings<'_>) -> String {
    let is_apart = |log: &&Recording| log.option("identity").as_deref() != Some("false");
    let text = if !findings.is_trace() {
        "needs --mode trace: only then is it recorded who takes which lock"
    } else if !findings.logs.iter().filter(|log| log.is_trace()).all(|log| is_apart(&log)) {
        "needs --identity true: without it, lock objects are not told apart"
    } else if !findings.profile().has_acquisitions {
        "acquisitions have no times: without --since, --until and --min-wait they are here, too"
    } else {
        ""
    };
    text.to_owned()
}

/// Finds the locks of one thread.
pub fn single_thread(findings: &Findings<'_>, options: &ReportOptions) -> SingleThread {
    let instances = Instances::find(findings);
    let counts = counts(findings, &instances);
    let counted = findings.profile().has_acquisitions && findings.is_trace();
    let known = |count: u64| counted.then_some(count);
    let measured = counted && is_measured(findings);
    let mut all = PlaceCounts::default();
    counts.values().for_each(|counts| all.add(counts));
    let mut keys: Vec<&PlaceKey> = counts.keys().chain(instances.places.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut places: Vec<SingleThreadPlace> = keys
        .into_iter()
        .map(|key| {
            let PlaceKey { class, name, kind, place } = key.clone();
            let found = instances.places.get(key).cloned().unwrap_or_default();
            let counts = counts.get(key).copied().unwrap_or_default();
            SingleThreadPlace {
                whole_class: instances.is_whole(&class),
                lock: LockRef { name, class, id: 0 },
                kind,
                place,
                instances: found.instances,
                private_instances: found.private,
                shared_instances: found.shared,
                threads: found.owners.len() as u64,
                acquisitions: known(counts.acquisitions),
                acquisitions_error: known(counts.acquisitions_error),
                private_acquisitions: known(counts.private_acquisitions),
                private_acquisitions_error: known(counts.private_acquisitions_error),
                unknown_acquisitions: known(counts.unknown_acquisitions),
                unknown_acquisitions_error: known(counts.unknown_acquisitions_error),
                hold_ns: measured.then_some(counts.hold_ns),
                private_hold_ns: measured.then_some(counts.private_hold_ns),
            }
        })
        .filter(|place| place.private_instances != 0 || place.private_acquisitions > Some(0))
        .collect();
    // Stable: ties stay in the order of class, name, kind and place.
    places.sort_by_key(|it| (Reverse(it.likely_acquisitions()), Reverse(it.private_instances)));
    let left_out = cut(&mut places, options);
    let totals = SingleThreadTotals {
        acquisitions: known(all.acquisitions),
        acquisitions_error: known(all.acquisitions_error),
        private_acquisitions: known(all.private_acquisitions),
        private_acquisitions_error: known(all.private_acquisitions_error),
        unknown_acquisitions: known(all.unknown_acquisitions),
        unknown_acquisitions_error: known(all.unknown_acquisitions_error),
        private_hold_ns: measured.then_some(all.private_hold_ns),
        ..instances.totals.clone()
    };
    SingleThread { totals, places, left_out }
}

/// Whether holds were measured in some log.
fn is_measured(findings: &Findings<'_>) -> bool {
    let measured =
        |log: &Recording| log.is_trace() && log.hold_mode() != tyrion_formats::HoldMode::None;
    findings.logs.iter().any(measured)
}

/// What the profile counts at each place.
fn counts(findings: &Findings<'_>, instances: &Instances) -> BTreeMap<PlaceKey, PlaceCounts> {
    let profile = findings.profile();
    let mut counts: BTreeMap<PlaceKey, PlaceCounts> = BTreeMap::new();
    for row in &profile.sections {
        let (Some(lock), Some(&frame)) =
            (profile.locks.get(row.lock as usize), profile.frames.get(row.frame as usize))
        else {
            continue;
        };
        let whose = instances.whose(row.thread, &lock.class);
        let only = |wanted: Whose, value: u64| if whose == wanted { value } else { 0 };
        let key = PlaceKey {
            class: lock.class.clone(),
            name: lock.name.clone(),
            kind: row.kind.name(),
            place: names::frame(profile, frame),
        };
        counts.entry(key).or_default().add(&PlaceCounts {
            acquisitions: row.acquisitions,
            acquisitions_error: row.acquisitions_error,
            private_acquisitions: only(Whose::Private, row.acquisitions),
            private_acquisitions_error: only(Whose::Private, row.acquisitions_error),
            unknown_acquisitions: only(Whose::Unknown, row.acquisitions),
            unknown_acquisitions_error: only(Whose::Unknown, row.acquisitions_error),
            hold_ns: row.hold_ns,
            private_hold_ns: only(Whose::Private, row.hold_ns),
        });
    }
    counts
}

/// What the dashes of the table mean.
const ELSEWHERE: &str = "Locks are counted where they were taken first: at places with –, these \
                         locks had been taken elsewhere before.";

/// What follows from bursts.
const IN_BURSTS: &str = "Some places were counted in bursts (count=adaptive): how often locks were \
                         taken there is an estimate, within ± for 95 % of such estimates, and a \
                         thread that took a lock only between the bursts was not seen, so that \
                         locks of several threads may be among those of one.";

fn view(found: &SingleThread) -> View {
    let totals = &found.totals;
    if totals.instances == 0 && totals.acquisitions.unwrap_or(0) == 0 {
        return View::default();
    }
    let fact = |name: &str, value: TableCell| (name.to_owned(), value);
    let mut facts = vec![
        fact("lock objects taken by one thread", TableCell::Count(totals.private_instances)),
        fact("lock objects taken by several", TableCell::Count(totals.shared_instances)),
    ];
    if totals.virtual_instances != 0 {
        facts.push(fact("by virtual threads only", TableCell::Count(totals.virtual_instances)));
    }
    facts.extend([
        fact("acquisitions", count_within(totals.acquisitions, totals.acquisitions_error)),
        fact(
            "of locks of one thread",
            count_within(totals.private_acquisitions, totals.private_acquisitions_error),
        ),
        fact(
            "unknown which of the two",
            count_within(totals.unknown_acquisitions, totals.unknown_acquisitions_error),
        ),
        fact("held for", ns(totals.private_hold_ns)),
    ]);
    let mut parts = vec![Part::Facts(facts)];
    if !found.places.is_empty() {
        parts.push(Part::Table(table(found)));
        if found.places.iter().any(|place| place.private_instances == 0) {
            parts.push(Part::Text(ELSEWHERE.to_owned()));
        }
    }
    View { parts }
}

/// A number of lock objects, unless they were all counted elsewhere: a row that takes
/// the locks of one thread, of which it has none, would be a riddle.
fn counted_here(value: u64, objects: u64) -> TableCell {
    if objects == 0 { TableCell::Unknown } else { TableCell::Count(value) }
}

/// The columns that are left out where nothing was counted in bursts.
const ERRORS: [&str; 2] = ["acquired ±", "unknown ±"];

fn table(found: &SingleThread) -> Table {
    let row = |it: &SingleThreadPlace| {
        // None for certain is not none where it is not known of some.
        let is_none = it.private_acquisitions == Some(0);
        let is_told = |_: &u64| !(is_none && it.unknown_acquisitions > Some(0));
        let cells = vec![
            TableCell::Text(it.lock.label()),
            TableCell::name(&it.place),
            TableCell::Text(it.kind.to_owned()),
            counted_here(it.private_instances, it.private_instances),
            counted_here(it.shared_instances, it.instances),
            counted_here(it.threads, it.private_instances),
            count(it.private_acquisitions.filter(is_told)),
            within(it.private_acquisitions_error.unwrap_or(0)),
            count(it.unknown_acquisitions),
            within(it.unknown_acquisitions_error.unwrap_or(0)),
            ns(it.private_hold_ns.filter(is_told)),
            TableCell::Text(if it.whole_class { "yes" } else { "no" }.to_owned()),
        ];
        Row { cells, details: Vec::new() }
    };
    Table {
        title: String::new(),
        columns: vec![
            Column::new("lock", "What the program calls it, and its class", 0),
            Column::new("taken at", "Where the program takes it", 0),
            Column::new("kind", "What kind of lock", 4),
            Column::new("private", "Lock objects of one thread, taken here first", 0),
            Column::new("shared", "Lock objects of several threads, taken here first", 2),
            Column::new("threads", "Threads that the private ones belong to", 3),
            Column::new("acquired", "Acquisitions that were certainly of locks of one thread", 0),
            Column::new(ERRORS[0], "How far that may be off, for 95 % of such estimates", 0),
            Column::new("unknown", "Acquisitions of which that is not known", 1),
            Column::new(ERRORS[1], "How far that may be off, for 95 % of such estimates", 1),
            Column::new("held", "How long, in the acquisitions of locks of one thread", 0),
            Column::new("never shared", "Whether no lock of the class was taken by two threads", 0),
        ],
        rows: found.places.iter().map(row).collect(),
        left_out: found.left_out,
    }
    .without_unknown(&ERRORS)
}

#[cfg(test)]
mod tests;
