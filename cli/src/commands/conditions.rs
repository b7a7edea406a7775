//! `--fail-if`, for pipelines: of `report` and `diff`.

use crate::{
    files::OutputTarget,
    outcome::{CommandResult, Completion, Failure, tell_error},
};
use clap::Args;
use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};
use tyrion_report::{
    Findings,
    conditions::{Condition, ConditionError, Figures, METRICS, MetCondition, Unit},
    findings::LogFacts,
    render::junit::{self, Outcome, Suite, Test},
    sections::{dumps::are_dumps, verdict::Verdict},
};

/// When to end with another status.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Conditions")]
pub struct ConditionArgs {
    /// Exit with status 4 if this holds: a metric, then >, >=, <, <= or ==, then
    /// a value, such as 'p99_wait_ns > 5ms'; may be given several times
    #[arg(long = "fail-if", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,
    /// Also write to this file, as JUnit XML, which conditions hold: each is a test, which
    /// fails if it does
    #[arg(long, value_name = "FILE", visible_alias = "junit-xml", requires = "conditions")]
    junit: Option<PathBuf>,
}

/// Whether a condition holds, or why that is not known.
type Checked = Result<Option<MetCondition>, String>;

fn condition(text: &str) -> Result<Condition, ConditionError> {
    text.parse()
}

/// The metrics, a line each, for the end of a command's help.
pub fn metrics_help() -> String {
    let mut help =
        "Metrics of --fail-if (those of a lock are checked for every lock):\n".to_owned();
    for metric in METRICS {
        let unit = match metric.unit {
            Unit::Ns => "5ms",
            Unit::Share => "10%",
            Unit::Count => "3",
        };
        let trace = if metric.needs_trace { " (trace mode)" } else { "" };
        // Writing into a string cannot fail.
        let _ = writeln!(help, "  {:<24} {unit:<4} {}{trace}", metric.name, metric.about);
    }
    help.truncate(help.trim_end().len());
    help
}

impl ConditionArgs {
    /// Refuses what a single recording cannot answer.
    ///
    /// # Errors
    /// When a condition is about a change.
    pub fn of_one_recording(&self) -> Result<(), Failure> {
        match self.conditions.iter().find(|condition| condition.is_change()) {
            Some(condition) => {
                Err(Failure::Usage(ConditionError::Change(condition.to_string()).to_string()))
            }
            None => Ok(()),
        }
    }

    /// Says which conditions hold, and ends with another status if any does.
    /// `before` are the recordings to compare with, if there are any.
    ///
    /// # Errors
    /// When the logs do not tell: what is not known is no success.
    pub fn check(
        &self,
        done: Completion,
        findings: &Findings<'_>,
        before: Option<&Findings<'_>>,
    ) -> Result<Completion, Failure> {
        if self.conditions.is_empty() {
            return Ok(done);
        }
        let checked = self.checked(findings, before);
        for held in checked.iter().flatten().flatten() {
            tell_error(&format!("condition holds: {held}"));
        }
        if let Some(path) = &self.junit {
            self.write_junit(path, &checked, findings)?;
        }
        let mut holds = false;
        for outcome in checked {
            holds |= outcome.map_err(Failure::new)?.is_some();
        }
        Ok(if holds { Completion::Held } else { done })
    }

    /// Of each condition whether it holds.
    fn checked(&self, findings: &Findings<'_>, before: Option<&Findings<'_>>) -> Vec<Checked> {
        let mut sides = std::iter::once(findings).chain(before);
        // Samples of threads in dumps say which locks they wait for.
        if sides.any(|findings| findings.profile().lacks_waits && !are_dumps(findings)) {
            let why = "--fail-if checks locks, which were not recorded; record with --mode \
                       contention+sample";
            return vec![Err(why.to_owned()); self.conditions.len()];
        }
        let needs_orders = self.conditions.iter().any(Condition::needs_orders);
        let figures = |findings: &Findings<'_>| match Figures::of(findings) {
            figures if needs_orders => figures.with_orders(findings),
            figures => figures,
        };
        let (after, before) = (figures(findings), before.map(figures));
        let check = |condition: &Condition| condition.check(&after, before.as_ref());
        let checked = self.conditions.iter().map(check);
        checked.map(|outcome| outcome.map_err(|error| error.to_string())).collect()
    }

    /// Writes what was checked, with the verdict of the recording that it was checked of.
    fn write_junit(
        &self,
        path: &Path,
        checked: &[Checked],
        findings: &Findings<'_>,
    ) -> Result<(), Failure> {
        let test = |(condition, outcome): (&Condition, &Checked)| Test {
            name: condition.to_string(),
            outcome: match outcome {
                Ok(None) => Outcome::Passed,
                Ok(Some(held)) => Outcome::Failed(held.to_string()),
                Err(why) => Outcome::Unknown(why.clone()),
            },
        };
        let tests: Vec<Test> = self.conditions.iter().zip(checked).map(test).collect();
        let logs = LogFacts::of_all(findings);
        let joined = |of: fn(&LogFacts) -> &str| {
            let names: BTreeSet<&str> =
                logs.iter().map(of).filter(|name| !name.is_empty()).collect();
            Vec::from_iter(names).join(", ")
        };
        let (name, program) = (joined(|log| &log.log), joined(|log| &log.program));
        // Names of logs may have the id of a process in them.
        let class = if program.is_empty() { "tyrion" } else { &*program };
        let about = Verdict::of(findings).lines;
        let xml = junit::write(&Suite { name: &name, class, tests: &tests, about: &about });
        OutputTarget::of(path).write(|out| out.write_all(xml.as_bytes()))
    }

    /// Refuses to replace a log by what is written.
    ///
    /// # Errors
    /// When there is one.
    pub fn spare_logs(&self) -> Result<(), Failure> {
        self.junit.as_deref().map_or(Ok(()), |path| OutputTarget::of(path).spare_logs())
    }

    /// As [`ConditionArgs::check`], after the answers were written, or not.
    ///
    /// # Errors
    /// When they could not be written, or the logs do not tell.
    pub fn check_written(
        &self,
        written: Result<(), Failure>,
        done: Completion,
        findings: &Findings<'_>,
        before: Option<&Findings<'_>>,
    ) -> CommandResult {
        after_writing(written, || self.check(done, findings, before))
    }
}

/// How a command ends that writes and then checks. Whoever reads no further
/// wants to know what holds all the same.
fn after_writing(
    written: Result<(), Failure>,
    check: impl FnOnce() -> CommandResult,
) -> CommandResult {
    match written {
        Ok(()) => check(),
        Err(Failure::ClosedPipe) => match check()? {
            Completion::Held => Ok(Completion::Held),
            _ => Err(Failure::ClosedPipe),
        },
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_fit_the_help() {
        let help = metrics_help();
        assert_eq!(help.lines().count(), METRICS.len() + 1);
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }

    #[test]
    fn what_holds_is_told_to_those_who_read_no_further() {
        let closed = || Err(Failure::ClosedPipe);
        let ends = |written, done| after_writing(written, || Ok(done));
        assert!(matches!(ends(Ok(()), Completion::Held), Ok(Completion::Held)));
        assert!(matches!(ends(closed(), Completion::Held), Ok(Completion::Held)));
        for done in [Completion::Whole, Completion::Partly] {
            assert!(matches!(ends(closed(), done), Err(Failure::ClosedPipe)));
        }
        let unknown = after_writing(closed(), || Err(Failure::new("the logs do not tell")));
        assert!(matches!(unknown, Err(Failure::Failed(_))), "no success, read or not");
        let full = after_writing(Err(Failure::new("disk full")), || panic!("checked"));
        assert!(matches!(full, Err(Failure::Failed(_))));
    }
}
