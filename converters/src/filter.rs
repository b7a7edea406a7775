//! Which waits of a log go into a profile.

mod part;
mod time;

pub use part::Spread;
pub use time::{Moment, duration_ns, moment};

use crate::aggregate::SampleTotals;
pub use crate::states::States;
use regex::Regex;
use thiserror::Error;
use tyrion_formats::{Event, Recording, Sampled};
use tyrion_wire::WaitKind;

/// Why a filter cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FilterError {
    /// No kind or group of kinds has this name.
    #[error("`{0}` is no kind of wait; kinds are {1}; groups are contention, idle, all")]
    Kind(String, String),
    /// No state or group of states has this name.
    #[error("`{0}` is no state of a thread; states are {1}; groups are busy (all but idle), all")]
    State(String, String),
    /// The text is no duration.
    #[error("`{0}` is no duration; write 50us, 1.5ms, 5s or 1h2m")]
    Duration(String),
    /// The text is no moment.
    #[error(
        "`{0}` is no moment; write 5s (after the log's start), -10s (before its end) \
         or 2026-11-21T10:49:00Z"
    )]
    Moment(String),
}

/// A set of kinds of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    /// Every kind.
    pub fn all() -> Kinds {
        WaitKind::ALL.into_iter().fold(Kinds(0), Kinds::with)
    }

    /// Lock contention: another thread held what this one wanted.
    pub fn contention() -> Kinds {
        let kinds = WaitKind::ALL.into_iter().filter(|kind| kind.is_contention());
        kinds.fold(Kinds(0), Kinds::with)
    }

    /// Waiting for something to happen: neither lock contention nor the lock
    /// taken again after `Condition.await`.
    pub fn idle() -> Kinds {
        Kinds(0).with(WaitKind::ObjectWait).with(WaitKind::Condition).with(WaitKind::Park)
    }

    /// The set and this kind.
    pub fn with(self, kind: WaitKind) -> Kinds {
        Kinds(self.0 | 1 << kind.code())
    }

    /// Whether the kind is in the set.
    pub fn contains(self, kind: WaitKind) -> bool {
        self.0 & 1 << kind.code() != 0
    }

    /// Reads names of kinds and groups, separated by commas.
    ///
    /// # Errors
    /// When a name is neither.
    pub fn parse(text: &str) -> Result<Kinds, FilterError> {
        let mut kinds = Kinds(0);
        for name in text.split(',').map(str::trim) {
            kinds.0 |= match name {
                "all" => Kinds::all().0,
                "contention" => Kinds::contention().0,
                "idle" => Kinds::idle().0,
                _ => match WaitKind::from_name(name) {
                    Some(kind) => Kinds(0).with(kind).0,
                    None => {
                        let known = WaitKind::ALL.map(WaitKind::name).join(", ");
                        return Err(FilterError::Kind(name.to_owned(), known));
                    }
                },
            };
        }
        Ok(kinds)
    }
}

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

    /// What the filter asks of single waits, in the times of this log.
    pub fn window(&self, log: &Recording) -> Window {
        Window {
            since_ns: self.since.map_or(0, |moment| moment.in_log(log)),
            until_ns: self.until.map_or(u64::MAX, |moment| moment.in_log(log)),
            min_wait_ns: self.min_wait_ns,
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
    pub fn part(&self, sampled: &Sampled) -> Option<SampleTotals> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_alone_and_in_groups() {
        let kinds = Kinds::parse("monitor, park").unwrap();
        assert!(kinds.contains(WaitKind::Monitor) && kinds.contains(WaitKind::Park));
        assert!(!kinds.contains(WaitKind::Lock));
        assert_eq!(Kinds::parse("contention,idle,lock-reacquire"), Ok(Kinds::all()));
        assert_eq!(Kinds::parse("all"), Ok(Kinds::all()));
        assert!(!Kinds::contention().contains(WaitKind::LockReacquire));
        let error = Kinds::parse("monitors").unwrap_err().to_string();
        assert!(error.contains("`monitors`") && error.contains("lock-reacquire"), "{error}");
    }
}
