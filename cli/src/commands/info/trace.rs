//! What `tyrion info` tells of a log of trace mode.

mod found;

use super::{fields, is_imported};
use crate::commands::lock_names::LockNames;
use found::{InstanceCounts, TraceRecords};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};
use tyrion_formats::{HoldMode, Recording};
use tyrion_model::{
    filter::{Filter, Kinds},
    harmless,
    profile::{Profile, SectionRow},
    units,
};

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
    taken: Option<AcquisitionTotals>,
    /// Number and durations of charged waits; `None` when the filter asks for
    /// a duration.
    blamed: Option<(u64, u64)>,
    /// `None` when instances are not told apart.
    instances: Option<InstanceCounts>,
    /// Acquisitions of instances that the table had no room for.
    unidentified: u64,
    /// Pairs of locks, one taken while the other was held.
    nesting: u64,
    statistics: BTreeMap<String, u64>,
    /// No agent of ours tells what it instrumented.
    is_imported: bool,
}

/// Sums over acquisitions.
#[derive(Clone, Copy, Default)]
struct AcquisitionTotals {
    acquisitions: u64,
    uncounted: u64,
    acquisitions_error: u64,
    reentrant: u64,
    reentrant_error: u64,
    failed: u64,
    hold_ns: u64,
    measured: u64,
    longest_ns: u64,
}

impl AcquisitionTotals {
    fn of(profile: &Profile) -> AcquisitionTotals {
        let mut sums = AcquisitionTotals::default();
        profile.sections.iter().for_each(|section| sums.add(section));
        sums
    }

    fn add(&mut self, section: &SectionRow) {
        for (sum, part) in [
            (&mut self.acquisitions, section.acquisitions),
            (&mut self.uncounted, section.uncounted),
            (&mut self.acquisitions_error, section.acquisitions_error),
            (&mut self.reentrant, section.reentrant),
            (&mut self.reentrant_error, section.reentrant_error),
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
/// kinds in `charged`, as outputs charge it.
pub fn sum(
    log: &Recording,
    filter: &Filter,
    charged: Kinds,
    profile: &Profile,
) -> Option<TraceSums> {
    if !log.is_trace() && !log.is_aimed() {
        return None;
    }
    let window = filter.window(log);
    let found = TraceRecords::read(log, filter);
    let lock_names = LockNames::new(log, filter);
    let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
    let blames = profile.blames.iter().filter(|blame| charged.contains(blame.kind));
    let add = |(count, sum): (u64, u64), (more, more_ns): (u64, u64)| {
        (count.saturating_add(more), sum.saturating_add(more_ns))
    };
    Some(TraceSums {
        records: found.records,
        hold: log.hold_mode(),
        taken: window.is_open().then(|| AcquisitionTotals::of(profile)),
        blamed: (window.min_wait_ns == 0)
            .then(|| blames.map(|blame| (blame.count, blame.blamed_ns)).fold((0, 0), add)),
        instances: (log.option("identity").as_deref() != Some("false"))
            .then(|| found.instances(&lock_names)),
        unidentified: cells.fold(0, |sum, cell| sum.saturating_add(cell.unidentified)),
        nesting: found.nesting(&lock_names),
        statistics: log.statistics(),
        is_imported: is_imported(log),
    })
}

impl TraceSums {
    /// The object `trace` of the JSON.
    pub fn fields(&self) -> fields::Trace<'_> {
        let statistic = |key: &str| self.statistics.get(key).copied();
        let instances = self.instances.as_ref().map(|instances| fields::Instances {
            one_thread: instances.alone,
            several_threads: instances.shared,
            virtual_threads_only: instances.virtual_threads,
            unidentified_acquisitions: self.unidentified,
        });
        let blame = |(count, blamed_ns)| fields::BlameTotals { count, blamed_ns };
        fields::Trace {
            records: self.records,
            hold: hold_text(self.hold),
            taken: self.taken.map(|taken| taken.fields(self.hold)),
            blame: self.blamed.map(blame),
            instances,
            nesting_pairs: self.nesting,
            instrumented: fields::Instrumented {
                classes: statistic("instrumented.classes"),
                methods: statistic("instrumented.methods"),
            },
            left_alone: self.left().into_iter().collect(),
            own_cost_ns: self.own_cost().into_iter().collect(),
            statistics: &self.statistics,
        }
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
            None => row("acquisitions", "not shown: they have no times to filter by")?,
        }
        let blamed = match self.blamed {
            Some((count, sum)) => format!(
                "{} of waiting charged to lock holders, in {} {}",
                units::duration(sum),
                units::thousands(count),
                if count == 1 { "part" } else { "parts" },
            ),
            None => "not shown: waits may be charged in parts".to_owned(),
        };
        row("blamed", &blamed)?;
        row("lock objects", &self.objects())?;
        let pairs = if self.nesting == 1 { "pair" } else { "pairs" };
        // The lock order of the report counts locks alone.
        let of = "of locks, or of places where locks are not told apart";
        row("nesting", &format!("{} {pairs} {of}", units::thousands(self.nesting)))?;
        if !self.is_imported {
            row("instrumented", &self.instrumented())?;
        }
        if let Some(&count) = self.statistics.get(UNTRACED).filter(|count| **count != 0) {
            let threads = if count == 1 { "thread" } else { "threads" };
            let count = units::thousands(count);
            let text = format!("{count} {threads}, for lack of room: acquisitions are missing");
            row("not traced", &text)?;
        }
        let part = |(what, ns): (&str, u64)| format!("{what} {}", units::duration(ns));
        let own_cost: Vec<String> = self.own_cost().into_iter().map(part).collect();
        match own_cost.is_empty() {
            true => Ok(()),
            false => row("own cost", &own_cost.join(", ")),
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
            let _ = write!(
                text,
                "; acquisitions of other objects, for which there was no room: {count}"
            );
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

impl AcquisitionTotals {
    fn rows(&self, hold: HoldMode, row: &mut impl FnMut(&str, &str) -> fmt::Result) -> fmt::Result {
        let AcquisitionTotals {
            acquisitions,
            reentrant,
            failed,
            hold_ns,
            measured,
            longest_ns,
            ..
        } = *self;
        let text = format!(
            "{}, besides {} reentrant and {} failed",
            units::thousands(acquisitions),
            units::thousands(reentrant),
            units::thousands(failed),
        );
        row("acquisitions", &text)?;
        self.estimated().map_or(Ok(()), |text| row("estimated", &text))?;
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

    /// What of these numbers was not counted, but estimated from bursts.
    fn estimated(&self) -> Option<String> {
        let AcquisitionTotals { uncounted, acquisitions_error: error, reentrant_error, .. } = *self;
        if (uncounted, error, reentrant_error) == (0, 0, 0) {
            return None;
        }
        let reentrant = match reentrant_error {
            0 => String::new(),
            error => format!(", of reentrant ones {}", units::thousands(error)),
        };
        Some(format!(
            "{} of the acquisitions, from what bursts counted; standard error {} ({}){reentrant}",
            units::thousands(uncounted),
            units::thousands(error),
            units::share(error, self.acquisitions),
        ))
    }

    fn fields(self, hold: HoldMode) -> fields::AcquisitionSums {
        fields::AcquisitionSums {
            acquisitions: self.acquisitions,
            uncounted: self.uncounted,
            acquisitions_error: self.acquisitions_error,
            reentrant: self.reentrant,
            reentrant_error: self.reentrant_error,
            failed: self.failed,
            hold_ns: self.hold_ns,
            measured: self.measured,
            longest_hold_ns: self.longest_ns,
            hold_is_exact: hold == HoldMode::All,
        }
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
