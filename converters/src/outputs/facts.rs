//! What a log says of itself, as the headers, comments and subtitles of outputs
//! tell it.

use super::rows::Rows;
use std::{borrow::Cow, fmt};
use tyrion_formats::ShortWaits;
use tyrion_model::units;
use tyrion_model::{
    harmless,
    profile::{AcquisitionCounts, Profile, Run},
};
use tyrion_wire::WaitKind;

/// Longer values are cut: KCacheGrind recognises a file only if its header ends
/// within 2047 bytes.
const MAX_BYTES: usize = 160;

/// Longer names of programs are cut in summaries, which are one line of a
/// picture.
const MAX_PROGRAM_BYTES: usize = 60;

/// The facts of one run, each with its name.
pub(super) fn of_run(run: &Run) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Program", program(run)),
        ("JVM", or_unknown(&run.jvm).to_owned()),
        ("Log", or_unknown(&run.log).to_owned()),
        ("Recorded", recorded(run)),
    ];
    if run.threshold_ns > 0 {
        let threshold = units::duration(run.threshold_ns);
        facts.push(("Threshold", format!("{threshold}, {}", short_waits(run))));
    }
    if let ShortWaits::Sampled { interval_ns } = run.short_waits {
        let interval = units::duration(interval_ns);
        facts.push(("Waits", format!("sampled, one per {interval} of waiting")));
    }
    if run.period_ns > 0 {
        facts.push(("Sampled", format!("every {} on average", units::duration(run.period_ns))));
    }
    match run.hold.as_str() {
        "" => {}
        "all" => facts.push(("Hold time", "all holds were measured".to_owned())),
        "none" => facts.push(("Hold time", "not measured".to_owned())),
        several if several.contains(", then ") => {
            facts.push(("Hold time", format!("measured for {several} of the holds")));
        }
        share => facts.push(("Hold time", format!("estimated from {share} of the holds"))),
    }
    for (_, value) in &mut facts {
        *value = cut(&harmless::text(value)).into_owned();
    }
    facts
}

/// How far acquisitions may be off, if they were counted in bursts.
pub(super) fn estimated(taken: &AcquisitionCounts) -> Option<String> {
    let AcquisitionCounts { acquisitions, acquisitions_error: error, .. } = *taken;
    taken.is_estimated().then(|| {
        let (error, share) = (units::thousands(error), units::share(error, acquisitions));
        format!("estimated, counted in bursts; standard error at most {error} ({share}) in all")
    })
}

/// What became of waits below the threshold.
fn short_waits(run: &Run) -> &'static str {
    match run.short_waits {
        ShortWaits::Counted => "shorter waits are summed",
        _ => "shorter waits were not recorded",
    }
}

fn program(run: &Run) -> String {
    match run.pid {
        0 => or_unknown(&run.program).to_owned(),
        pid => format!("{} (pid {pid})", or_unknown(&run.program)),
    }
}

fn recorded(run: &Run) -> String {
    if (run.start_wall_ns, run.duration_ns) == (0, 0) {
        return "it is not known when".to_owned();
    }
    let start = units::start(run.start_wall_ns);
    match run.duration_ns {
        0 => format!("from {start}, it is not known for how long"),
        ns => format!("{start} + {}", units::duration(ns)),
    }
}

fn or_unknown(value: &str) -> &str {
    if value.is_empty() { "unknown" } else { value }
}

/// The value if it is short enough for a header, or its beginning.
pub(super) fn cut(value: &str) -> Cow<'_, str> {
    cut_to(value, MAX_BYTES)
}

fn cut_to(value: &str, max_bytes: usize) -> Cow<'_, str> {
    if value.len() <= max_bytes {
        return Cow::Borrowed(value);
    }
    let end = (0..=max_bytes).rev().find(|&end| value.is_char_boundary(end)).unwrap_or(0);
    Cow::Owned(format!("{}…", &value[..end]))
}

/// The facts of the whole profile in a line, of which these kinds are shown.
pub(super) fn summary(profile: &Profile, kinds: &RowKinds) -> String {
    let mut facts = match &profile.runs[..] {
        [] => vec!["no log".to_owned()],
        [run] => vec![match run.pid {
            0 => programs(&profile.runs),
            pid => format!("{}, pid {pid}", programs(&profile.runs)),
        }],
        runs => vec![format!("{} logs of {}", runs.len(), programs(runs))],
    };
    facts.extend(recorded_in_all(&profile.runs));
    let threshold_ns = profile.runs.iter().map(|run| run.threshold_ns).max();
    if let Some(threshold_ns @ 1..) = threshold_ns {
        facts.push(format!("threshold {}", units::duration(threshold_ns)));
    }
    facts.push(kinds.to_string());
    harmless::text(&facts.join(" · ")).into_owned()
}

/// How long was recorded, as far as that is known.
fn recorded_in_all(runs: &[Run]) -> Option<String> {
    let durations = runs.iter().map(|run| run.duration_ns);
    let recorded = units::duration(durations.fold(0, u64::saturating_add));
    let is_unknown = |run: &Run| (run.start_wall_ns, run.duration_ns) == (0, 0);
    match runs {
        runs if runs.iter().all(is_unknown) => None,
        [_] => Some(format!("recorded {recorded}")),
        _ => Some(format!("recorded {recorded} in all")),
    }
}

/// The programs' names, each once, cut for a summary.
fn programs(runs: &[Run]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let name = or_unknown(&run.program);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    cut_to(&names.join(", "), MAX_PROGRAM_BYTES).into_owned()
}

/// The kinds of wait, or of locks, that rows have, and whether there are samples
/// among them.
pub(super) struct RowKinds {
    kinds: [bool; WaitKind::ALL.len()],
    samples: bool,
    lacks_waits: bool,
}

impl RowKinds {
    pub(super) fn of(rows: &Rows<'_>) -> RowKinds {
        let mut kinds = RowKinds {
            kinds: [false; WaitKind::ALL.len()],
            samples: false,
            lacks_waits: rows.lacks_waits(),
        };
        for row in rows.iter() {
            match row.kind {
                _ if row.state.is_some() => kinds.samples = true,
                Some(kind) => kinds.kinds[usize::from(kind.code()) - 1] = true,
                None => {}
            }
        }
        kinds
    }

    fn present(&self) -> impl Iterator<Item = WaitKind> + '_ {
        let kinds = WaitKind::ALL.into_iter().zip(self.kinds);
        kinds.filter(|(_, present)| *present).map(|(kind, _)| kind)
    }

    /// Whether there is lock contention alone.
    pub(super) fn is_contention_only(&self) -> bool {
        self.present().all(WaitKind::is_contention)
    }
}

impl fmt::Display for RowKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.present().map(WaitKind::name).collect();
        let waits = match names.len() {
            0 if self.samples => return f.write_str("samples"),
            0 if self.lacks_waits => return f.write_str("no samples"),
            0 => "no waits".to_owned(),
            len if len == WaitKind::ALL.len() => "all kinds of wait".to_owned(),
            _ => names.join(", "),
        };
        let samples = if self.samples { ", samples" } else { "" };
        write!(f, "{waits}{samples}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_were_not_recorded_are_not_said_to_be_summed() {
        let told = |short_waits| {
            let run = Run { threshold_ns: 1_000_000, short_waits, ..Run::default() };
            of_run(&run).into_iter().find(|(name, _)| *name == "Threshold").map(|(_, value)| value)
        };
        let summed = told(ShortWaits::Counted);
        assert_eq!(summed.as_deref(), Some("1 ms, shorter waits are summed"));
        let missing = told(ShortWaits::Unknown);
        assert_eq!(missing.as_deref(), Some("1 ms, shorter waits were not recorded"));
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = "é".repeat(200);
        assert_eq!(cut(&long), "é".repeat(MAX_BYTES / 2) + "…");
        assert_eq!(cut_to(&long, 5), "éé…");
        let odd = format!("x{long}");
        assert!(cut(&odd).len() <= MAX_BYTES + 3);
    }
}
