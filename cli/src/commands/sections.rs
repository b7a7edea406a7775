//! Which sections of a report, and how much of them.

use crate::filters::{ShapeArgs, duration_value};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tyrion_report::{About, ReportOptions, SECTIONS, Section};

/// The section that shows waits that had not ended.
pub const STILL_WAITING: &str = "still-waiting";

/// The section that says how much time of idle threads is hidden.
pub const TREE: &str = "tree";
/// The other one of samples.
pub const LINES: &str = "lines";

/// The section that needs each hold in the order of time.
const NEAR_MISSES: &str = "near-misses";
/// The section whose predictions take time.
const WHATIF: &str = "whatif";

/// How many rows tables have in the terminal unless the user asks for more.
pub const FEW: usize = 5;

/// What to answer.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sections")]
pub struct SectionArgs {
    /// Only these sections, separated by commas [default: all that the logs
    /// have data for]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = section_names())]
    section: Vec<&'static str>,
    /// Show at most N rows of each table, 0 for all, and at most N groups of threads
    /// in trees [default: text is brief, with 5 rows of the tables that matter most;
    /// else 20 rows, 40 lines of source code, and all groups]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// The length of the phases of the overview, for which critical section
    /// pressure is computed
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = phase_value)]
    phase: u64,
    /// Two threads that take a lock within this time of each other count as a
    /// near miss
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = duration_value)]
    near: u64,
    /// Show one tree for each interval of this length (tree)
    #[arg(long, value_name = "DURATION", value_parser = interval_value)]
    interval: Option<u64>,
    /// Also show groups of threads and frames that have no time (tree)
    #[arg(long)]
    zero: bool,
}

/// Other names of sections, as users say them.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("locks", "contended"),
    ("holders", "blockers"),
    ("chains", "wait-chains"),
    ("what-if", "whatif"),
    ("deadlocks", STILL_WAITING),
];

/// The names in the registry of sections, as values of an option.
fn section_names() -> impl TypedValueParser<Value = &'static str> {
    let value = |section: &Section| {
        let others = OTHER_NAMES.iter().filter(|(_, name)| *name == section.name);
        let others = others.map(|(other, _)| *other);
        PossibleValue::new(section.name).help(section.title).aliases(others)
    };
    // The parser lets only these names through.
    PossibleValuesParser::new(SECTIONS.iter().map(value)).map(|given| {
        let other = OTHER_NAMES.iter().find(|(other, _)| *other == given).map(|(_, name)| *name);
        let mut names = SECTIONS.iter().map(|section| section.name);
        names.find(|name| *name == other.unwrap_or(&given)).unwrap_or_default()
    })
}

/// Reads the length of an interval.
///
/// # Errors
/// When it is none.
pub fn interval_value(text: &str) -> Result<u64, String> {
    positive(text, "an interval")
}

/// Reads how long to record: a number alone stands for seconds.
///
/// # Errors
/// When it is no time.
pub fn seconds_value(text: &str) -> Result<u64, String> {
    let is_number = text.parse::<f64>().is_ok() && text.bytes().all(|it| !it.is_ascii_alphabetic());
    match is_number {
        true => interval_value(&format!("{text}s")),
        false => interval_value(text),
    }
}

fn phase_value(text: &str) -> Result<u64, String> {
    positive(text, "a phase")
}

fn positive(text: &str, what: &str) -> Result<u64, String> {
    match duration_value(text) {
        Ok(0) => Err(format!("{what} must be longer than 0")),
        Ok(ns) => Ok(ns),
        Err(error) => Err(error.to_string()),
    }
}

impl SectionArgs {
    /// How sections shall answer, as text or otherwise.
    pub fn options(&self, shape: &ShapeArgs, as_text: bool) -> ReportOptions {
        let brief = as_text && self.top.is_none() && self.section.is_empty();
        let default = match brief {
            false => ReportOptions::default(),
            true => ReportOptions { top: FEW, lines: FEW, brief, ..ReportOptions::default() },
        };
        ReportOptions {
            top: self.top.unwrap_or(default.top),
            phase_ns: self.phase,
            near_ns: self.near,
            near_misses: !brief && self.shows(NEAR_MISSES),
            what_if: self.shows(WHATIF),
            lines: self.top.unwrap_or(default.lines),
            groups: self.top.unwrap_or(default.groups),
            group_by: shape.group_by.clone().unwrap_or(default.group_by),
            packages: shape.packages.clone(),
            interval_ns: self.interval.unwrap_or(default.interval_ns),
            interval_from_since: false,
            zero: self.zero,
            brief,
        }
    }

    /// The sections that were picked, in the order of the report; none for all.
    pub fn picked(&self) -> Vec<&'static Section> {
        SECTIONS.iter().filter(|section| self.section.contains(&section.name)).collect()
    }

    /// Whether sections about samples were picked, and no others.
    pub fn shows_samples_alone(&self) -> bool {
        let picked = self.picked();
        !picked.is_empty() && picked.iter().all(|section| section.about == About::Samples)
    }

    /// Whether a section is shown.
    pub fn shows(&self, name: &str) -> bool {
        self.section.is_empty() || self.section.contains(&name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::usage::CommandLine;
    use clap::Parser;

    #[test]
    fn sections_have_the_names_that_users_give_them() {
        let picked = |names: &str| {
            let words = ["report", "--section", names];
            CommandLine::<SectionArgs>::try_parse_from(words).map(|line| line.args.section)
        };
        assert_eq!(picked("locks,tree").unwrap(), ["contended", "tree"]);
        for (other, name) in OTHER_NAMES {
            assert_eq!(picked(other).unwrap(), [name]);
            assert!(SECTIONS.iter().any(|section| section.name == name), "{name}");
        }
        assert!(picked("lock").is_err());
    }

    #[test]
    fn a_number_is_so_many_seconds() {
        assert_eq!(seconds_value("3"), Ok(3_000_000_000));
        assert_eq!(seconds_value("0.5"), Ok(500_000_000));
        assert_eq!(seconds_value("3ms"), Ok(3_000_000));
        for wrong in ["0", "-1", "inf", "1e3", ""] {
            assert!(seconds_value(wrong).is_err(), "{wrong}");
        }
    }
}
