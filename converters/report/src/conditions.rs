//! Conditions on what logs tell, `p99_wait_ns > 5ms`: for pipelines that shall
//! fail when locks get in the way.
//!
//! A condition is `METRIC OP VALUE`. Metrics of locks hold for the lock that is
//! farthest beyond the value, and the answer names it. A value with a sign,
//! `+10%`, is a change from one recording to another. What filters choose is
//! not said here: they choose what there is to be measured.

mod figures;
mod metrics;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use figures::everything;
pub use figures::{Figures, LockFigures};
pub use metrics::{METRICS, Metric, Unit};

use crate::findings::LockRef;
use metrics::Of;
use std::{cmp::Ordering, collections::BTreeMap, fmt, str::FromStr};
use thiserror::Error;

/// Why a condition cannot be understood, or not be answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConditionError {
    /// The text is none.
    #[error("`{0}` is not a condition; write METRIC OP VALUE, such as 'p99_wait_ns > 5ms'")]
    Form(String),
    /// No metric has this name.
    #[error("`{0}` is not a metric; metrics are {1}")]
    Metric(String, String),
    /// The value is not one of this metric's.
    #[error("`{condition}`: {metric} is {unit}")]
    Unit {
        /// The condition.
        condition: String,
        /// The metric's name.
        metric: &'static str,
        /// What its values are, and how to write them.
        unit: &'static str,
    },
    /// It is about a change, and there is only one recording.
    #[error("`{0}`: a value with a sign is a change between two recordings: for tyrion diff")]
    Change(String),
    /// The logs do not tell.
    #[error("`{condition}` cannot be answered: {metric} {lacking}")]
    Unknown {
        /// The condition.
        condition: String,
        /// The metric's name.
        metric: &'static str,
        /// What the logs lack.
        lacking: &'static str,
    },
}

/// How a metric is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
}

impl Op {
    /// Every operator; those that another one begins with stand after it.
    const ALL: [Op; 5] = [Op::Above, Op::AtLeast, Op::Below, Op::AtMost, Op::Equal];

    fn sign(self) -> &'static str {
        match self {
            Op::Above => ">",
            Op::AtLeast => ">=",
            Op::Below => "<",
            Op::AtMost => "<=",
            Op::Equal => "==",
        }
    }

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Op::Above => value > limit,
            Op::AtLeast => value >= limit,
            Op::Below => value < limit,
            Op::AtMost => value <= limit,
            Op::Equal => value == limit,
        }
    }

    /// Whether `a` is farther beyond the limit than `b`.
    fn is_worse(self, a: f64, b: f64) -> bool {
        match self {
            Op::Above | Op::AtLeast => a > b,
            Op::Below | Op::AtMost => a < b,
            Op::Equal => false,
        }
    }
}

/// What a metric is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// The value itself.
    Value(f64),
    /// By how much it changed, in its own unit.
    Difference(f64),
    /// By what share of what it was it changed.
    Change(f64),
}

impl Limit {
    fn number(self) -> f64 {
        match self {
            Limit::Value(number) | Limit::Difference(number) | Limit::Change(number) => number,
        }
    }

    /// What to compare with it.
    fn measure(self, before: f64, after: f64) -> f64 {
        match self {
            Limit::Value(_) => after,
            Limit::Difference(_) => after - before,
            Limit::Change(_) => change(before, after),
        }
    }
}

/// The change from one value to another as a share of the first: infinite from
/// nothing to something.
pub fn change(before: f64, after: f64) -> f64 {
    match before.partial_cmp(&after) {
        Some(Ordering::Equal) => 0.0,
        _ if before == 0.0 => f64::INFINITY,
        _ => (after - before) / before,
    }
}

/// A condition, understood.
#[derive(Clone, Debug)]
pub struct Condition {
    metric: &'static Metric,
    op: Op,
    limit: Limit,
    /// The value as it was written.
    value: String,
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        parse::condition(text)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.metric.name, self.op.sign(), self.value)
    }
}

/// A condition that holds: what was measured, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct MetCondition {
    /// The condition.
    pub condition: String,
    /// The lock that is farthest beyond the value; empty for metrics of the
    /// whole.
    pub lock: String,
    /// Of how many more locks it holds.
    pub more: usize,
    /// What was measured, with its unit.
    pub measured: String,
}

impl fmt::Display for MetCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.condition, self.measured)?;
        if !self.lock.is_empty() {
            write!(f, " at {}", self.lock)?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, ", and 1 more lock"),
            more => write!(f, ", and {more} more locks"),
        }
    }
}

impl Condition {
    /// Whether the condition is about a change from one recording to another.
    pub fn is_change(&self) -> bool {
        !matches!(self.limit, Limit::Value(_))
    }

    /// Whether the condition asks for something that not every report works
    /// out: the cycles in the order of locks, and deadlocks.
    pub fn needs_orders(&self) -> bool {
        self.metric.is_of_orders()
    }

    /// Where the condition holds, if it does. `before` are the figures of the
    /// recording to compare with.
    ///
    /// # Errors
    /// When the logs do not tell, or there is nothing to compare with.
    pub fn check(
        &self,
        figures: &Figures,
        before: Option<&Figures>,
    ) -> Result<Option<MetCondition>, ConditionError> {
        if self.is_change() && before.is_none() {
            return Err(ConditionError::Change(self.to_string()));
        }
        let nothing = Figures::default();
        let before = before.filter(|_| self.is_change());
        let sides = [Some(figures), before];
        let lacks = |side: &Figures| self.metric.lacks(side);
        if let Some(lacking) = sides.into_iter().flatten().find_map(lacks) {
            return Err(self.unknown(lacking));
        }
        match self.metric.of {
            Of::Whole(get) => {
                let was = before.map_or(Some(0.0), get);
                let (Some(was), Some(is)) = (was, get(figures)) else {
                    return Err(self.unknown("is not in these logs"));
                };
                let is_held = self.holds(was, is);
                Ok(is_held.then(|| self.held("", 0, was, is)))
            }
            Of::Locks(get) => self.worst(get, figures, before.unwrap_or(&nothing)),
        }
    }

    fn unknown(&self, lacking: &'static str) -> ConditionError {
        let (condition, metric) = (self.to_string(), self.metric.name);
        ConditionError::Unknown { condition, metric, lacking }
    }

    fn holds(&self, was: f64, is: f64) -> bool {
        self.op.holds(self.limit.measure(was, is), self.limit.number())
    }

    /// The lock that is farthest beyond the limit. A lock of which the figure
    /// is not known is passed over, as long as it is known of others.
    ///
    /// # Errors
    /// There are locks, and the figure is known of none.
    fn worst(
        &self,
        get: fn(&LockFigures, &Figures) -> Option<f64>,
        figures: &Figures,
        before: &Figures,
    ) -> Result<Option<MetCondition>, ConditionError> {
        let mut worst: Option<(&LockRef, f64, f64)> = None;
        let (mut holding, mut known, mut unknown) = (0, 0, 0);
        for (lock, was, is) in both(get, self.metric.of_nothing, before, figures) {
            // Of one recording, what it was before does not matter.
            let was = if self.is_change() { was } else { Some(0.0) };
            let (Some(was), Some(is)) = (was, is) else {
                unknown += 1;
                continue;
            };
            known += 1;
            if self.holds(was, is) {
                holding += 1;
                let measure = |was, is| self.limit.measure(was, is);
                if worst.is_none_or(|(_, was_worst, is_worst)| {
                    self.op.is_worse(measure(was, is), measure(was_worst, is_worst))
                }) {
                    worst = Some((lock, was, is));
                }
            }
        }
        if known == 0 && unknown != 0 {
            return Err(self.unknown("is not known for any lock in these logs"));
        }
        Ok(worst.map(|(lock, was, is)| self.held(&lock.label(), holding - 1, was, is)))
    }

    fn held(&self, lock: &str, more: usize, was: f64, is: f64) -> MetCondition {
        let text = |value| self.metric.unit.text(value);
        let measured = match self.limit {
            Limit::Value(_) => text(is),
            _ if was == 0.0 => format!("{} from nothing", text(is)),
            _ => format!("{} from {} ({})", text(is), text(was), signed_share(change(was, is))),
        };
        MetCondition { condition: self.to_string(), lock: lock.to_owned(), more, measured }
    }
}

/// A change in percent, `+12.3 %`.
pub fn signed_share(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// A metric of each lock on either side: `None` where it is not known, and
/// `of_nothing` where no thread waited for the lock.
fn both<'f>(
    get: fn(&LockFigures, &Figures) -> Option<f64>,
    of_nothing: Option<f64>,
    before: &'f Figures,
    after: &'f Figures,
) -> impl Iterator<Item = (&'f LockRef, Option<f64>, Option<f64>)> {
    let was = by_lock(before);
    let is = by_lock(after);
    let gone: Vec<_> = was.iter().filter(|(key, _)| !is.contains_key(*key)).collect();
    let gone: Vec<_> =
        gone.into_iter().map(|(_, lock)| (&lock.lock, get(lock, before), of_nothing)).collect();
    let there = after.locks.iter().map(move |lock| {
        let was = was.get(&lock.key()).map_or(of_nothing, |lock| get(lock, before));
        (&lock.lock, was, get(lock, after))
    });
    there.chain(gone)
}

fn by_lock(figures: &Figures) -> BTreeMap<(&str, &str, &'static str), &LockFigures> {
    figures.locks.iter().map(|lock| (lock.key(), lock)).collect()
}
