//! What a reader of a profile should know about how it came about.

mod lacks;

use super::{fold::FoldNotes, sums::WaitSums};
use crate::{profile::InBursts, totals::SampleTotals, units};
use lacks::FormatLacks;
use std::collections::BTreeSet;
use tyrion_formats::Recording;

/// Waits that a profile lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
}

impl Lost {
    pub(super) fn add(&mut self, sums: &WaitSums) {
        self.count = self.count.saturating_add(sums.count);
        self.wait_ns = self.wait_ns.saturating_add(sums.wait_ns);
    }
}

/// Locks that were traced for a while, as `mode=auto` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aimed {
    /// What code calls them.
    pub locks: BTreeSet<String>,
    /// For how long in all, ns.
    pub traced_ns: u64,
}

impl Aimed {
    fn line(&self) -> String {
        if self.locks.is_empty() {
            return "mode=auto: no lock cost enough to be traced; there are waits only".to_owned();
        }
        format!(
            "mode=auto: acquisitions and holds are those of {}, in {} of the recording",
            units::counted(self.locks.len() as u64, "lock"),
            units::duration(self.traced_ns)
        )
    }
}

/// What a reader of a profile should know about how it came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Waits that name a site whose definition is lost: neither their kind nor
    /// their stack nor their lock is known. The profile lacks them.
    pub unknown_sites: Lost,
    /// Methods, classes, stacks, threads and locks whose definitions are lost;
    /// `[unknown]` stands for them.
    pub unknown_names: u64,
    /// Waits of lock contention that were lost when recorded, for want of room.
    pub dropped_contention: u64,
    /// Other waits that were lost when recorded, for want of room.
    pub dropped_other: u64,
    /// Of logs that say nothing of waits below their threshold: the greatest of
    /// these thresholds, in ns. Totals lack those waits.
    pub unknown_below_ns: u64,
    /// Of logs that have one wait each time waiting has added up to so much: the greatest
    /// of these intervals, in ns. Totals lack the other waits.
    pub sampled_per_ns: u64,
    /// How many logs do not say whether they lack waits because they were short.
    pub unknown_thresholds: u64,
    /// Logs whose numbers are taken for counts, which is a guess.
    assumed_units: Vec<String>,
    /// What the formats of logs do not tell.
    lacking: Vec<FormatLacks>,
    /// Waits of the asked-for kinds that had not ended when the log did. The
    /// profile lacks them.
    pub pending: u64,
    /// Folded waits that were taken or left by the middle of their cell's time.
    pub straddling: Lost,
    /// The longest time of such a cell, in ns: the resolution of the answer.
    pub resolution_ns: u64,
    /// Folded waits in the profile whose number and durations were estimated
    /// from histograms.
    pub estimated: Lost,
    /// Acquisitions at places whose definitions are lost. The profile lacks
    /// them.
    pub unknown_places: u64,
    /// Blame for waits whose site's definition is lost. The profile lacks it.
    pub unknown_blame: Lost,
    /// Acquisitions that the profile lacks since the filter asks for a time or
    /// a duration, which they do not have.
    pub untimed: u64,
    /// Blame that the profile lacks since the filter asks for a duration.
    pub unsorted_blame: Lost,
    /// Logs that were recorded without trace mode, if others were with it.
    pub without_trace: u64,
    /// What was traced in logs that have acquisitions of single locks alone, if there are any.
    pub aimed: Option<Aimed>,
    /// Some log has acquisitions, but no hold was measured.
    pub hold_unmeasured: bool,
    /// What of the profile's acquisitions was counted in bursts, if anything.
    pub in_bursts: Option<InBursts>,
    /// Samples of threads that waited for work, which the filter hides unless it
    /// is asked for states.
    pub hidden_idle: SampleTotals,
    /// The filter asks for a duration of waits, which samples do not have.
    pub min_wait_on_samples: bool,
    /// The filter asks for a duration of waits, and of some it is not known.
    pub min_wait_on_counts: bool,
    /// Logs without samples, if others have some.
    pub without_samples: u64,
}

impl Notes {
    pub(super) fn add_folds(&mut self, folds: &FoldNotes) {
        self.straddling.count = self.straddling.count.saturating_add(folds.straddling);
        self.straddling.wait_ns = self.straddling.wait_ns.saturating_add(folds.straddling_ns);
        self.resolution_ns = self.resolution_ns.max(folds.resolution_ns);
        self.estimated.count = self.estimated.count.saturating_add(folds.estimated);
        self.estimated.wait_ns = self.estimated.wait_ns.saturating_add(folds.estimated_ns);
    }

    /// Adds what the format of a log does not tell.
    pub(super) fn add_lacks(&mut self, log: &Recording) {
        lacks::add(&mut self.lacking, log);
        if log.has_assumed_unit() {
            self.assumed_units.push(log.name().to_owned());
        }
    }

    /// Whether waits are missing that were not recorded because they were short.
    pub fn lacks_short_waits(&self) -> bool {
        self.unknown_below_ns != 0 || self.sampled_per_ns != 0
    }

    /// Forgets what nobody wants to know who does not look at acquisitions, or
    /// at blame.
    pub fn retain(&mut self, acquisitions: bool, blame: bool) {
        if !acquisitions {
            (self.unknown_places, self.untimed, self.hold_unmeasured) = (0, 0, false);
            (self.in_bursts, self.aimed) = (None, None);
        }
        if !blame {
            (self.unknown_blame, self.unsorted_blame) = (Lost::default(), Lost::default());
        }
        if !acquisitions && !blame {
            self.without_trace = 0;
        }
    }

    /// Forgets what nobody wants to know who looks at samples alone.
    pub fn forget_waits(&mut self) {
        *self = Notes {
            unknown_names: self.unknown_names,
            hidden_idle: self.hidden_idle,
            min_wait_on_samples: self.min_wait_on_samples,
            without_samples: self.without_samples,
            ..Notes::default()
        };
    }

    /// Forgets what nobody wants to know who does not look at samples.
    pub fn forget_samples(&mut self) {
        self.hidden_idle = SampleTotals::default();
        (self.min_wait_on_samples, self.without_samples) = (false, 0);
    }

    /// The notes, a sentence each; none if there is nothing to say.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.unknown_sites.count != 0 {
            lines.push(format!(
                "left out: {} ({}), because the definitions of their sites are lost",
                units::counted(self.unknown_sites.count, "wait"),
                time(self.unknown_sites.wait_ns),
            ));
        }
        if self.unknown_names != 0 {
            lines.push(match self.unknown_names {
                1 => "a name is lost; `[unknown]` stands for it".to_owned(),
                count => format!("{count} names are lost; `[unknown]` stands for them"),
            });
        }
        if self.dropped_contention != 0 || self.dropped_other != 0 {
            lines.push(format!(
                "not recorded because there was no room in the log: {}, {}",
                units::counted(self.dropped_contention, "contended wait"),
                units::counted(self.dropped_other, "other wait"),
            ));
        }
        if self.unknown_below_ns != 0 {
            lines.push(format!(
                "waits shorter than {} were not recorded, not even summed: totals lack them",
                time(self.unknown_below_ns),
            ));
        }
        if self.sampled_per_ns != 0 {
            lines.push(format!(
                "waits were sampled, one each time waiting had added up to {}: totals lack the \
                 others, mostly shorter ones",
                time(self.sampled_per_ns),
            ));
        }
        if self.unknown_thresholds != 0 {
            lines.push(format!(
                "{} not say from which duration on waits were recorded: totals may lack shorter ones",
                match self.unknown_thresholds {
                    1 => "a recording does".to_owned(),
                    count => format!("{count} recordings do"),
                },
            ));
        }
        if !self.assumed_units.is_empty() {
            let names = lacks::named(&self.assumed_units);
            lines.push(format!("{names}: unit assumed: samples; --unit says otherwise"));
        }
        lines.extend(self.lacking.iter().map(FormatLacks::line));
        if self.pending != 0 {
            lines.push(format!(
                "{} had not ended and {} left out; tyrion report --section still-waiting shows them",
                units::counted(self.pending, "wait"),
                if self.pending == 1 { "is" } else { "are" },
            ));
        }
        if self.straddling.count != 0 {
            lines.push(format!(
                "{} ({}) at the edges of the time span could only be counted by whole cells, \
                 with a resolution of {}",
                units::counted(self.straddling.count, "folded wait"),
                time(self.straddling.wait_ns),
                time(self.resolution_ns),
            ));
        }
        if self.estimated.count != 0 {
            lines.push(format!(
                "estimated from histograms: {} ({}), since only waits above the log's threshold \
                 are recorded one by one",
                units::counted(self.estimated.count, "folded wait"),
                time(self.estimated.wait_ns),
            ));
        }
        if self.min_wait_on_counts {
            let note = "--min-wait does not apply to waits of which only the number is known";
            lines.push(note.to_owned());
        }
        self.add_lines_of_trace(&mut lines);
        self.add_lines_of_samples(&mut lines);
        lines
    }

    fn add_lines_of_trace(&self, lines: &mut Vec<String>) {
        if self.unknown_places != 0 {
            lines.push(format!(
                "left out: {}, because the definitions of their places are lost",
                units::counted(self.unknown_places, "acquisition")
            ));
        }
        if self.unknown_blame.count != 0 {
            let blame = time(self.unknown_blame.wait_ns);
            lines.push(format!(
                "left out: blame ({blame}), because the definitions of its sites are lost"
            ));
        }
        if self.untimed != 0 {
            lines.push(format!(
                "left out: {} and their hold times; they are counted over the whole recording, so \
                 --since, --until and --min-wait cannot select among them",
                units::counted(self.untimed, "acquisition"),
            ));
        }
        if self.unsorted_blame.count != 0 {
            lines.push(format!(
                "left out: blame ({}); waits may be charged in parts, so --min-wait cannot select \
                 among them",
                time(self.unsorted_blame.wait_ns),
            ));
        }
        if self.without_trace != 0 {
            let logs = logs(self.without_trace);
            lines.push(format!("{logs} recorded without mode=trace: only waits are counted"));
        }
        lines.extend(self.aimed.as_ref().map(Aimed::line));
        if self.hold_unmeasured {
            lines.push("hold times are 0: they were not measured (hold=none)".to_owned());
        }
        lines.extend(self.in_bursts.as_ref().map(in_bursts));
    }
}

impl Notes {
    fn add_lines_of_samples(&self, lines: &mut Vec<String>) {
        let SampleTotals { snapshots, wall_ns, cpu_ns } = self.hidden_idle;
        // Of parts of a record time may be wanted, and no snapshot.
        if snapshots != 0 || wall_ns != 0 {
            let cpu = match cpu_ns {
                0 => String::new(),
                cpu_ns => format!(", {} of CPU time with them", time(cpu_ns)),
            };
            lines.push(format!(
                "hidden: {} ({}) of threads that waited for work{cpu}; --state all shows them",
                units::counted(snapshots, "snapshot"),
                time(wall_ns),
            ));
        }
        if self.min_wait_on_samples {
            let note = "--min-wait does not apply to samples: they are of moments, not of waits";
            lines.push(note.to_owned());
        }
        if self.without_samples != 0 {
            let logs = logs(self.without_samples);
            lines.push(format!(
                "{logs} recorded without sampling: what else threads did is unknown"
            ));
        }
    }
}

/// `1 log was`, `2 logs were`
fn logs(count: u64) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", units::counted(count, "log"))
}

/// `12 places were counted in bursts (count=adaptive): ...`
fn in_bursts(it: &InBursts) -> String {
    format!(
        "{} {} counted in bursts (count=adaptive): acquisitions are estimates, with a standard \
         error of {} in all",
        units::counted(it.places, "place"),
        if it.places == 1 { "was" } else { "were" },
        units::share(it.acquisitions_error, it.acquisitions),
    )
}

fn time(ns: u64) -> String {
    units::duration(ns)
}
