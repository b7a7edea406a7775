//! What a recording can tell at all.

use super::{Recording, hold_mode::HoldMode};

/// What a recording can tell at all. Where it cannot, finding nothing means that
/// nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Waits were recorded.
    pub waits: bool,
    /// What is known of waits below the threshold.
    pub short_waits: ShortWaits,
    /// Acquisitions were counted, and waits charged to those who held the lock.
    pub acquisitions: bool,
    /// Which holds were measured.
    pub holds: HoldMode,
    /// Threads were sampled from the start. There may be samples in any other
    /// recording, too: sampling can be switched on later.
    pub samples: bool,
    /// What its format does not tell.
    pub lacks: Lacks,
}

/// What is known of waits below a recording's threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShortWaits {
    /// They were counted and summed: totals have them.
    #[default]
    Counted,
    /// Nothing: totals lack them.
    Unknown,
    /// Waits of any length were sampled: one was recorded each time waiting had added up
    /// to so much. Totals lack the others, which are short ones mostly.
    Sampled {
        /// How much waiting there is for each that was recorded, in ns.
        interval_ns: u64,
    },
}

/// Who the owner of a lock is that a wait names, outside of trace mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owners {
    /// The thread that had it when the wait began.
    #[default]
    AtStart,
    /// The thread that had it last before the waiter got it, which need not be the one
    /// that had it when the wait began.
    Previous,
}

/// The key in the metadata that says what the numbers of a file were taken for, and how
/// its value ends if that is a guess.
pub(crate) const UNIT: &str = "unit";
pub(crate) const ASSUMED: &str = "assumed; --unit says otherwise";

/// The key in the metadata that says from which duration on waits of each sort were
/// recorded, where that differs; and what it says if that is not known.
pub(crate) const THRESHOLDS: &str = "thresholds";
pub(crate) const UNKNOWN_THRESHOLDS: &str = "not known";

impl Recording {
    /// Whether it is known from which duration on waits were recorded.
    pub fn has_threshold(&self) -> bool {
        self.facts.metadata(THRESHOLDS) != Some(UNKNOWN_THRESHOLDS)
    }

    /// Whether it is a guess what the numbers of the file count.
    pub fn has_assumed_unit(&self) -> bool {
        let unit = self.facts.metadata(UNIT).and_then(|unit| unit.strip_suffix(')'));
        unit.is_some_and(|unit| unit.ends_with(ASSUMED))
    }

    /// From which duration on waits were recorded one by one, in ns, if that is known.
    pub fn known_threshold_ns(&self) -> Option<u64> {
        let facts = &self.facts;
        let is_sampled =
            facts.threshold_ns == 0 && matches!(facts.short_waits, ShortWaits::Sampled { .. });
        let is_known = self.has_threshold() && !facts.lacks.singles && !is_sampled;
        is_known.then_some(facts.threshold_ns)
    }

    /// The recorded process, if it is known.
    pub fn known_pid(&self) -> Option<u32> {
        Some(self.facts.pid).filter(|&pid| pid != 0)
    }

    /// Unix time of the first moment, in ns, if it is known.
    pub fn known_start_wall_ns(&self) -> Option<u64> {
        Some(self.facts.start_wall_ns).filter(|&ns| ns != 0)
    }

    /// From the first to the last moment, in ns, if it is known how long that was.
    pub fn known_duration_ns(&self) -> Option<u64> {
        let ns = self.end_ns().saturating_sub(self.start_ns());
        let facts = &self.facts;
        // A thread dump is of one moment, which is written as the shortest time there is.
        if facts.lacks.durations && ns <= 1 {
            return None;
        }
        let is_timed = facts.start_wall_ns != 0 && !facts.lacks.times;
        (ns != 0 || is_timed).then_some(ns)
    }
}

/// What a recording does not tell, because the format that it was read from does not, or
/// because it was switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lacks {
    /// Waits: there are acquisitions and holds alone, or samples.
    pub waits: bool,
    /// Waits for monitors, though it has others.
    pub monitors: bool,
    /// Waits for the locks of `java.util.concurrent`, though it has others.
    pub parks: bool,
    /// When waits took place.
    pub times: bool,
    /// How long single waits took: there are only sums, and each wait counts as long as
    /// the average.
    pub singles: bool,
    /// How long waits took at all: there are only their numbers, and durations are 0.
    pub durations: bool,
    /// How many waits there were: each sum counts as one.
    pub counts: bool,
    /// Which threads waited: all count as one thread.
    pub threads: bool,
    /// Where in the program threads waited.
    pub stacks: bool,
}

impl Lacks {
    /// The names of what it does not tell.
    pub fn names(&self) -> Vec<&'static str> {
        let all = [
            ("waits", self.waits),
            ("monitor-waits", self.monitors),
            ("park-waits", self.parks),
            ("times", self.times),
            ("single-waits", self.singles),
            ("durations", self.durations),
            ("counts", self.counts),
            ("threads", self.threads),
            ("stacks", self.stacks),
        ];
        all.into_iter().filter(|(_, is_lacking)| *is_lacking).map(|(name, _)| name).collect()
    }
}
