//! `--fail-if`, for pipelines: of `report` and `diff`.

use crate::outcome::{CommandResult, Completion, Failure, tell_error};
use clap::Args;
use std::fmt::Write;
use tyrion_report::{
    Findings,
    conditions::{Condition, ConditionError, Figures, METRICS, Unit},
    sections::dumps::are_dumps,
};

/// When to end with another status.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Conditions")]
pub struct ConditionArgs {
    /// Exit with status 4 if this holds: a metric, then >, >=, <, <= or ==, then
    /// a value, such as 'p99_wait_ns > 5ms'; may be given several times
    #[arg(long = "fail-if", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,
}

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
        let mut sides = std::iter::once(findings).chain(before);
        // Samples of threads in dumps say which locks they wait for.
        if sides.any(|findings| findings.profile().lacks_waits && !are_dumps(findings)) {
            return Err(Failure::new(
                "--fail-if checks locks, which were not recorded; record with --mode \
                 contention+sample",
            ));
        }
        let needs_orders = self.conditions.iter().any(Condition::needs_orders);
        let figures = |findings: &Findings<'_>| match Figures::of(findings) {
            figures if needs_orders => figures.with_orders(findings),
            figures => figures,
        };
        let (after, before) = (figures(findings), before.map(figures));
        let mut holds = false;
        for condition in &self.conditions {
            let held = condition.check(&after, before.as_ref());
            let held = held.map_err(|error| Failure::new(error.to_string()))?;
            if let Some(held) = held {
                tell_error(&format!("condition holds: {held}"));
                holds = true;
            }
        }
        Ok(if holds { Completion::Held } else { done })
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
