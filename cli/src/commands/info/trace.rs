//! What `tyrion info` tells of a log of trace mode.

mod found;

use super::{more, place_of_frame};
use crate::commands::places::Places;
use found::{Found, Instances};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};
use tyrion_converters::{
    filter::{Filter, Kinds},
    harmless,
    outputs::units,
    profile::{Profile, SectionRow},
};
use tyrion_formats::{HoldMode, Recording};
use tyrion_wire::WaitKind;

/// So many places are listed; JSON has them all.
const PLACES_SHOWN: usize = 5;

/// What keys of the agent's own cost begin and end with.
const OWN: (&str, &str) = ("own.", "_ns");
/// The key of how many threads there was no room for.
const UNTRACED: &str = "threads.untraced";
/// What keys of methods that were left alone begin with.
const LEFT: &str = "left.";

/// What trace mode recorded, as far as the filter wants it.
pub struct TraceSums {
    /// Records of trace mode, whatever the filter.
    pub records: u64,
    hold: HoldMode,
    /// `None` when the filter asks for a time or a duration, which acquisitions
    /// do not have.
    taken: Option<Taken>,
    /// Number and durations of charged waits; `None` when the filter asks for
    /// a duration.
    blamed: Option<(u64, u64)>,
    /// `None` when instances are not told apart.
    instances: Option<Instances>,
    /// Acquisitions of instances that the table had no room for.
    unidentified: u64,
    /// Pairs of locks, one taken while the other was held.
    nesting: u64,
    statistics: BTreeMap<String, u64>,
}

/// Acquisitions, and their places, most hold time first.
#[derive(Default)]
struct Taken {
    sums: Sums,
    places: Vec<Place>,
}

/// Where locks of one sort are taken.
struct Place {
    kind: WaitKind,
    lock: String,
    at: String,
    sums: Sums,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    acquisitions: u64,
    reentrant: u64,
    failed: u64,
    hold_ns: u64,
    measured: u64,
    longest_ns: u64,
}

impl Sums {
    fn add(&mut self, section: &SectionRow) {
        for (sum, part) in [
            (&mut self.acquisitions, section.acquisitions),
            (&mut self.reentrant, section.reentrant),
            (&mut self.failed, section.failed),
            (&mut self.hold_ns, section.hold_ns),
            (&mut self.measured, section.measured),
        ] {
            *sum = sum.saturating_add(part);
        }
        self.longest_ns = self.longest_ns.max(section.longest_ns);
    }
}

/// Sums what trace mode recorded; `None` for a log of another mode. `profile`
/// is that of the log with the same filter; blame is summed over waits of the
/// kinds in `ranked`, as outputs charge it.
pub fn sum(
    log: &Recording,
    filter: &Filter,
    ranked: Kinds,
    profile: &Profile,
) -> Option<TraceSums> {
    if !log.is_trace() {
        return None;
    }
    let window = filter.window(log);
    let found = Found::read(log, filter);
    let places = Places::new(log, filter);
    let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
    let blames = profile.blames.iter().filter(|blame| ranked.contains(blame.kind));
    let add = |(count, sum): (u64, u64), (more, more_ns): (u64, u64)| {
        (count.saturating_add(more), sum.saturating_add(more_ns))
    };
    Some(TraceSums {
        records: found.records,
        hold: log.hold_mode(),
        taken: window.is_open().then(|| taken(profile)),
        blamed: (window.min_wait_ns == 0)
            .then(|| blames.map(|blame| (blame.count, blame.blamed_ns)).fold((0, 0), add)),
        instances: (log.facts().metadata("identity") != Some("false"))
            .then(|| found.instances(&places)),
        unidentified: cells.fold(0, |sum, cell| sum.saturating_add(cell.unidentified)),
        nesting: found.nesting(&places),
        statistics: log.statistics(),
    })
}

fn taken(profile: &Profile) -> Taken {
    let mut taken = Taken::default();
    let mut places: BTreeMap<(u32, u32, WaitKind), Sums> = BTreeMap::new();
    for section in &profile.sections {
        taken.sums.add(section);
        places.entry((section.frame, section.lock, section.kind)).or_default().add(section);
    }
    let places = places.into_iter().map(|((frame, lock, kind), sums)| Place {
        kind,
        lock: profile.lock_name(lock),
        at: place_of_frame(profile, frame),
        sums,
    });
    taken.places = places.collect();
    let order = |place: &Place| std::cmp::Reverse((place.sums.hold_ns, place.sums.acquisitions));
    taken.places.sort_by(|a, b| {
        order(a).cmp(&order(b)).then_with(|| (&a.lock, &a.at).cmp(&(&b.lock, &b.at)))
    });
    taken
}

impl TraceSums {
    /// The `trace` object of the JSON report.
    pub fn to_json(&self) -> Value {
        let statistic = |key: &str| self.statistics.get(key);
        let to_map = |list: Vec<(&str, u64)>| -> Map<String, Value> {
            list.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
        };
        let blame = self.blamed.map(|(count, sum)| json!({ "count": count, "blamed_ns": sum }));
        let instances = self.instances.as_ref().map(|instances| {
            json!({
                "one_thread": instances.alone,
                "several_threads": instances.shared,
                "virtual_threads_only": instances.virtual_threads,
                "unidentified_acquisitions": self.unidentified,
            })
        });
        json!({
            "records": self.records,
            "hold": hold_text(self.hold),
            "taken": self.taken.as_ref().map(|taken| taken.to_json(self.hold)),
            "blame": blame,
            "instances": instances,
            "nesting_pairs": self.nesting,
            "instrumented": {
                "classes": statistic("instrumented.classes"),
                "methods": statistic("instrumented.methods"),
            },
            "left_alone": to_map(self.left()),
            "own_cost_ns": to_map(self.own_cost()),
            "statistics": self.statistics,
        })
    }

    /// Methods that were left alone, by reason.
    fn left(&self) -> Vec<(&str, u64)> {
        let statistics = self.statistics.iter();
        statistics.filter_map(|(key, &count)| Some((key.strip_prefix(LEFT)?, count))).collect()
    }

    /// What the agent's own work took, in ns, by what it was.
    fn own_cost(&self) -> Vec<(&str, u64)> {
        let (begin, end) = OWN;
        let statistics = self.statistics.iter();
        statistics
            .filter_map(|(key, &ns)| Some((key.strip_prefix(begin)?.strip_suffix(end)?, ns)))
            .collect()
    }

    /// The rows of the text report.
    pub fn to_text(&self, out: &mut String) -> fmt::Result {
        let mut row = |key: &str, value: &str| writeln!(out, "{key:<13} {}", harmless::text(value));
        match &self.taken {
            Some(taken) => taken.rows(self.hold, &mut row)?,
            None => row("acquisitions", "not told: they have no times to filter")?,
        }
        let blamed = match self.blamed {
            Some((count, sum)) => format!(
                "{} of waiting charged to who had the lock, in {} {}",
                units::duration(sum),
                units::thousands(count),
                if count == 1 { "part" } else { "parts" },
            ),
            None => "not told: waits may be charged in parts".to_owned(),
        };
        row("blamed", &blamed)?;
        row("lock objects", &self.objects())?;
        let pairs = if self.nesting == 1 { "pair" } else { "pairs" };
        // The lock order of the report counts locks alone.
        let of = "of locks, or of places where locks are not told apart";
        row("nesting", &format!("{} {pairs} {of}", units::thousands(self.nesting)))?;
        row("instrumented", &self.instrumented())?;
        if let Some(&count) = self.statistics.get(UNTRACED).filter(|count| **count != 0) {
            let threads = if count == 1 { "thread" } else { "threads" };
            let count = units::thousands(count);
            let text = format!("{count} {threads}, for want of room: acquisitions are missing");
            row("not traced", &text)?;
        }
        let part = |(what, ns): (&str, u64)| format!("{what} {}", units::duration(ns));
        let own_cost: Vec<String> = self.own_cost().into_iter().map(part).collect();
        match own_cost.is_empty() {
            true => Ok(()),
            false => row("own cost", &own_cost.join(", ")),
        }
    }

    /// The table of places.
    pub fn table(&self, out: &mut String) -> fmt::Result {
        match &self.taken {
            Some(taken) => taken.table(out),
            None => Ok(()),
        }
    }

    fn objects(&self) -> String {
        let Some(instances) = &self.instances else {
            return "not told apart (identity=false)".to_owned();
        };
        let mut text = format!(
            "{} taken by one thread only, {} by several",
            units::thousands(instances.alone),
            units::thousands(instances.shared)
        );
        if instances.virtual_threads != 0 {
            let count = units::thousands(instances.virtual_threads);
            let _ = write!(text, ", {count} by virtual threads only");
        }
        if self.unidentified != 0 {
            let count = units::thousands(self.unidentified);
            let _ = write!(text, "; {count} acquisitions of others, for want of room");
        }
        text
    }

    fn instrumented(&self) -> String {
        let count = |key: &str| match self.statistics.get(key) {
            Some(&count) => units::thousands(count),
            None => "unknown".to_owned(),
        };
        let (classes, methods) = (count("instrumented.classes"), count("instrumented.methods"));
        let reason = |(reason, count)| format!("{reason} {}", units::thousands(count));
        let left: Vec<String> = self.left().into_iter().map(reason).collect();
        let left = match left.is_empty() {
            true => "none left alone".to_owned(),
            false => format!("left alone: {}", left.join(", ")),
        };
        format!("{methods} methods of {classes} classes; {left}")
    }
}

impl Taken {
    fn rows(&self, hold: HoldMode, row: &mut impl FnMut(&str, &str) -> fmt::Result) -> fmt::Result {
        let Sums { acquisitions, reentrant, failed, hold_ns, measured, longest_ns } = self.sums;
        let text = format!(
            "{}, besides {} reentrant and {} failed",
            units::thousands(acquisitions),
            units::thousands(reentrant),
            units::thousands(failed),
        );
        row("acquisitions", &text)?;
        let total = units::duration(hold_ns);
        let longest = units::duration(longest_ns);
        let measured = units::thousands(measured);
        match hold {
            HoldMode::None => row("held", "not measured (hold=none)"),
            HoldMode::All => row("held", &format!("{total}; the longest {longest}")),
            HoldMode::Sampled(_) => {
                let text = format!(
                    "{total}, estimated from {measured} measured holds, the longest {longest}"
                );
                row("held", &text)
            }
        }
    }

    fn table(&self, out: &mut String) -> fmt::Result {
        if self.places.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n{:>14} {:>14} {:>14}  most held locks",
            "held", "acquisitions", "longest"
        )?;
        for place in self.places.iter().take(PLACES_SHOWN) {
            writeln!(
                out,
                "{:>14} {:>14} {:>14}  {} {}\n{:46}at {}",
                units::duration(place.sums.hold_ns),
                units::thousands(place.sums.acquisitions),
                units::duration(place.sums.longest_ns),
                place.kind.name(),
                harmless::name(&place.lock),
                "",
                harmless::name(&place.at),
            )?;
        }
        more(out, self.places.len(), PLACES_SHOWN)
    }

    fn to_json(&self, hold: HoldMode) -> Value {
        let sums = |sums: &Sums| {
            json!({
                "acquisitions": sums.acquisitions, "reentrant": sums.reentrant,
                "failed": sums.failed, "hold_ns": sums.hold_ns, "measured": sums.measured,
                "longest_hold_ns": sums.longest_ns,
            })
        };
        let places = self.places.iter().map(|place| {
            let mut value = sums(&place.sums);
            value["at"] = json!(place.at);
            value["kind"] = json!(place.kind.name());
            value["lock"] = json!(place.lock);
            value
        });
        let mut taken = sums(&self.sums);
        taken["places"] = places.collect();
        taken["hold_is_exact"] = json!(hold == HoldMode::All);
        taken
    }
}

fn hold_text(hold: HoldMode) -> String {
    match hold {
        HoldMode::None => "none".to_owned(),
        HoldMode::All => "all".to_owned(),
        HoldMode::Sampled(0) => "sampled".to_owned(),
        HoldMode::Sampled(one_in) => format!("1/{one_in}"),
    }
}
