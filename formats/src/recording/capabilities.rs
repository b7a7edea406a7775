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
}

/// The key in the metadata that says from which duration on waits of each sort were
/// recorded, where that differs; and what it says if that is not known.
pub(crate) const THRESHOLDS: &str = "thresholds";
pub(crate) const UNKNOWN_THRESHOLDS: &str = "not known";

impl Recording {
    /// Whether it is known from which duration on waits were recorded.
    pub fn has_threshold(&self) -> bool {
        self.facts.metadata(THRESHOLDS) != Some(UNKNOWN_THRESHOLDS)
    }
}
