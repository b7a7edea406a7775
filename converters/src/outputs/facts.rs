//! What a log says of itself, as the headers, comments and subtitles of outputs
//! tell it.

use super::units;
use crate::{
    names::printable,
    profile::{Profile, Run},
};
use std::borrow::Cow;
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
        ("Program", format!("{} (pid {})", or_unknown(&run.program), run.pid)),
        ("JVM", or_unknown(&run.jvm).to_owned()),
        ("Log", or_unknown(&run.log).to_owned()),
        ("Recorded", recorded(run)),
    ];
    if run.threshold_ns > 0 {
        let threshold = units::duration(run.threshold_ns);
        facts.push(("Threshold", format!("{threshold}, shorter waits are summed")));
    }
    for (_, value) in &mut facts {
        *value = cut(&printable(value)).into_owned();
    }
    facts
}

fn recorded(run: &Run) -> String {
    format!("{} + {}", units::utc(run.start_wall_ns), units::duration(run.duration_ns))
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

/// The facts of the whole profile in a line.
pub(super) fn summary(profile: &Profile) -> String {
    let mut facts = match &profile.runs[..] {
        [] => vec!["no log".to_owned()],
        [run] => vec![
            format!("{}, pid {}", programs(&profile.runs), run.pid),
            format!("recorded {}", units::duration(run.duration_ns)),
        ],
        runs => {
            let recorded_ns =
                runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.duration_ns));
            vec![
                format!("{} logs of {}", runs.len(), programs(runs)),
                format!("recorded {} in all", units::duration(recorded_ns)),
            ]
        }
    };
    let threshold_ns = profile.runs.iter().map(|run| run.threshold_ns).max();
    if let Some(threshold_ns @ 1..) = threshold_ns {
        facts.push(format!("threshold {}", units::duration(threshold_ns)));
    }
    facts.push(kinds(profile));
    printable(&facts.join(" · ")).into_owned()
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

/// The kinds of wait that the profile holds.
pub(super) fn kinds(profile: &Profile) -> String {
    let present: Vec<&str> = WaitKind::ALL
        .into_iter()
        .filter(|&kind| profile.waits.iter().any(|wait| wait.kind == kind))
        .map(WaitKind::name)
        .collect();
    match present.len() {
        0 => "no waits".to_owned(),
        len if len == WaitKind::ALL.len() => "all kinds of wait".to_owned(),
        _ => present.join(", "),
    }
}

/// Whether the profile holds lock contention alone.
pub(super) fn is_contention_only(profile: &Profile) -> bool {
    profile.waits.iter().all(|wait| wait.kind.is_contention())
}

#[cfg(test)]
mod tests {
    use super::*;

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
