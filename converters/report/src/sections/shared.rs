//! What several sections need.

use super::estimate;
use crate::{
    ReportOptions,
    findings::{Findings, names},
    view::{Detail, TableCell},
};
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::units;

/// What is said where there is no wait to show.
pub fn nobody_waited(findings: &Findings<'_>) -> String {
    if findings.lacks_waits() {
        return "Whether threads waited for locks is not known: the log does not tell.".to_owned();
    }
    match findings.threads.pending {
        0 => "No thread waited for a lock.".to_owned(),
        1 => "No wait for a lock has ended; one thread was still waiting when the log ended."
            .to_owned(),
        many => format!(
            "No wait for a lock has ended; {many} threads were still waiting when the log ended."
        ),
    }
}

/// What logs lack that do not tell when threads waited.
pub fn lacking_times(findings: &Findings<'_>) -> String {
    match findings.lacks_times() {
        true => "needs a log that tells when threads waited: profiles have only sums".to_owned(),
        false => String::new(),
    }
}

/// What logs lack that have only sums of waits.
pub fn lacking_singles(findings: &Findings<'_>) -> String {
    let has_sums = |log: &Recording| log.facts().lacks.singles;
    match !findings.logs.is_empty() && findings.logs.iter().all(has_sums) {
        true => {
            "needs a log that tells how long single waits took: profiles have only sums".to_owned()
        }
        false => String::new(),
    }
}

/// The stack with the most wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HotStack {
    /// How long the waits of this stack, or charged to it, were together.
    pub wait_ns: u64,
    /// Which share that is of the waits of all stacks.
    pub wait_share: f64,
    /// Its frames, innermost first: `com.acme.Foo.bar(Foo.java:12)`.
    pub stack: Vec<String>,
}

impl HotStack {
    /// Of a stack of the profile, and the waits of all stacks.
    pub fn new(findings: &Findings<'_>, stack: u32, wait_ns: u64, all_ns: u64) -> HotStack {
        let stack = names::stack(findings.profile(), stack);
        HotStack { wait_ns, wait_share: share(wait_ns, all_ns), stack }
    }

    /// To be shown below a row. `what` is "hottest waiter" and the like, `of`
    /// what the share is of.
    pub fn detail(&self, what: &str, of: &str) -> Detail {
        let title = format!("{what}, {:.0} % of {of}", 100.0 * self.wait_share);
        Detail::of_names(title, &self.stack)
    }
}

/// A part as a share of the whole; 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The mean of durations; 0 of none.
pub fn mean(sum_ns: u64, count: u64) -> u64 {
    sum_ns.checked_div(count).unwrap_or(0)
}

/// Cuts a list to [`ReportOptions::top`]: the number of entries that were cut off.
pub fn cut<T>(list: &mut Vec<T>, options: &ReportOptions) -> usize {
    let all = list.len();
    if options.top != 0 {
        list.truncate(options.top);
    }
    all - list.len()
}

/// A duration that may be unknown.
pub fn ns(value: Option<u64>) -> TableCell {
    value.map_or(TableCell::Unknown, TableCell::Ns)
}

/// A number that may be unknown.
pub fn count(value: Option<u64>) -> TableCell {
    value.map_or(TableCell::Unknown, TableCell::Count)
}

/// How far a number of acquisitions may be off, for 95 % of such estimates: nothing where
/// all were counted.
pub fn within(standard_error: u64) -> TableCell {
    match standard_error {
        0 => TableCell::Unknown,
        error => TableCell::Count(estimate::within(error)),
    }
}

/// The same behind the number, ` ± 1,234`.
pub fn plus_minus(standard_error: u64) -> String {
    match standard_error {
        0 => String::new(),
        error => format!(" ± {}", units::thousands(estimate::within(error))),
    }
}

/// A number of acquisitions with how far it may be off.
pub fn count_within(value: Option<u64>, standard_error: Option<u64>) -> TableCell {
    match (value, standard_error.unwrap_or(0)) {
        (Some(value), error @ 1..) => TableCell::Text(units::thousands(value) + &plus_minus(error)),
        (value, _) => count(value),
    }
}

/// A share that may be unknown.
pub fn share_of(value: Option<f64>) -> TableCell {
    value.map_or(TableCell::Unknown, TableCell::Share)
}
