//! What a recording says of itself.

use super::capabilities::{Lacks, Owners, ShortWaits};
use tyrion_wire::header::RecordingState;

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The name of the input that read it, as in [`INPUTS`](crate::INPUTS).
    pub format: &'static str,
    /// The version of that format; 0 if it has none.
    pub version: u16,
    /// Bytes of the file that are in use; what is behind them may be reserved.
    pub used_len: u64,
    /// Unix time of its first moment, in ns.
    pub start_wall_ns: u64,
    /// The same on the clock that all its times are on, monotonic ns.
    pub start_ns: u64,
    /// When it ended in an orderly way, monotonic ns; 0 when it did not.
    pub end_ns: u64,
    /// Whether it is complete.
    pub state: RecordingState,
    /// The process that was recorded; 0 when unknown.
    pub pid: u32,
    /// Waits shorter than this, in ns, are no records of their own.
    pub threshold_ns: u64,
    /// What is known of those instead.
    pub short_waits: ShortWaits,
    /// Who the owners are that waits name.
    pub owners: Owners,
    /// What else its format does not tell.
    pub lacks: Lacks,
    /// The most frames a stack has; 0 when unknown.
    pub depth: u32,
    /// Contended waits that were lost beside those that [`Counters`] tell of.
    ///
    /// [`Counters`]: tyrion_wire::slot::Counters
    pub dropped_contention: u64,
    /// Other waits that were lost.
    pub dropped_other: u64,
    /// Whether it has gone on in another file; `false` when it does not tell.
    pub continued: bool,
    /// Keys and values about the JVM and the recording, in order.
    pub metadata: Vec<(String, String)>,
}

impl Facts {
    /// The value of a metadata key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let found = self.metadata.iter().find(|(name, _)| name == key)?;
        Some(&found.1)
    }
}
