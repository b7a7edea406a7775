//! Which waits of a log go into a profile.

mod cell;
mod error;
mod kinds;
mod part;
mod states;
mod time;

pub use cell::CellPart;
pub use error::FilterError;
pub use kinds::Kinds;
pub use part::Spread;
pub use states::States;
pub use time::{Moment, duration_ns, moment};

use crate::totals::SampleTotals;
use regex::Regex;
use tyrion_formats::{Event, Noted, Recording};
use tyrion_wire::sample::Sample;

/// Which waits of a log go into a profile. The default is all lock contention.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Only these kinds.
    pub kinds: Kinds,
    /// Only threads whose last name this finds something in.
    pub thread: Option<Regex>,
    /// Only locks whose class, name, or class and identity
    /// (`java.lang.Object#7`) this finds something in.
    pub lock: Option<Regex>,
    /// Only what threads did in groups that this finds something in; the empty text stands for
    /// no group. See [`Filter::choose_groups`].
    pub group: Option<Regex>,
    /// Only waits that ended at this moment or later, and what of samples was
    /// not before it.
    pub since: Option<Moment>,
    /// Only waits that ended before this moment, and what of samples was before
    /// it.
    pub until: Option<Moment>,
    /// Only waits of at least this duration, in ns. It is not asked of samples:
    /// they are of moments.
    pub min_wait_ns: u64,
    /// Only samples of threads in these states.
    pub states: States,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            kinds: Kinds::contention(),
            thread: None,
            lock: None,
            group: None,
            since: None,
            until: None,
            min_wait_ns: 0,
            states: States::default(),
        }
    }
}

impl Filter {
    /// The kinds of waits that samples are to be of; `None` if threads need not
    /// have waited. They need not unless a lock is asked for, or other kinds
    /// than the usual choices, lock contention and all.
    pub fn kinds_of_samples(&self) -> Option<Kinds> {
        let usual_kinds = self.kinds == Kinds::contention() || self.kinds == Kinds::all();
        (self.lock.is_some() || !usual_kinds).then_some(self.kinds)
    }

    /// Has a log give only what is in the groups asked for.
    pub fn choose_groups(&self, log: &mut Recording) {
        if let Some(regex) = &self.group {
            log.keep_groups(|name| regex.is_match(name));
        }
    }

    /// What the filter asks of single waits, in the times of this log. Nothing is asked
    /// that the log does not tell: its waits would be left out as if they were known not
    /// to be meant.
    pub fn window(&self, log: &Recording) -> Window {
        let lacks = log.facts().lacks;
        let [since, until] = [self.since, self.until].map(|moment| moment.filter(|_| !lacks.times));
        Window {
            since_ns: since.map_or(0, |moment| moment.in_log(log)),
            until_ns: until.map_or(u64::MAX, |moment| moment.in_log(log)),
            min_wait_ns: if lacks.durations { 0 } else { self.min_wait_ns },
            averages: lacks.singles,
        }
    }
}

/// What a filter asks of single waits: when they ended and how long they took.
///
/// A wait belongs to the moment at which it ended, whole: so what is shown for
/// adjacent spans adds up to what is shown for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Only waits that ended at this monotonic time or later, in ns.
    pub since_ns: u64,
    /// Only waits that ended before this monotonic time, in ns.
    pub until_ns: u64,
    /// Only waits of at least this duration, in ns.
    pub min_wait_ns: u64,
    /// Folded waits count as long as the average of their cell: nothing else is known of
    /// single ones.
    pub averages: bool,
}

impl Window {
    /// Whether the window asks nothing.
    pub fn is_open(&self) -> bool {
        !self.limits_time() && self.min_wait_ns == 0
    }

    /// Whether the window asks when waits ended.
    pub fn limits_time(&self) -> bool {
        self.since_ns > 0 || self.until_ns < u64::MAX
    }

    /// Whether this wait is asked for.
    #[inline]
    pub fn takes(&self, wait: &Event) -> bool {
        wait.wait_ns() >= self.min_wait_ns && self.holds(wait.end_ns)
    }

    /// What of a record of samples is asked for; `None` if nothing is.
    pub fn part(&self, sampled: &Noted<Sample>) -> Option<SampleTotals> {
        let spread = Spread::of(sampled);
        if !self.limits_time() {
            return Some(spread.all());
        }
        let part = spread.between(self.since_ns, self.until_ns);
        (part != SampleTotals::default()).then_some(part)
    }

    /// Whether waits that ended at this monotonic time are asked for.
    #[inline]
    pub fn holds(&self, end_ns: u64) -> bool {
        (self.since_ns..self.until_ns).contains(&end_ns)
    }
}
