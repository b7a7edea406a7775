//! What owners of locks did while others waited.

use super::Recording;
use tyrion_wire::holder::Holder;

/// What was seen of the owner of a lock during a wait. Ids in it are those of definitions
/// that may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Who waited, by its id in the log.
    pub thread: u32,
    /// When the wait ended, monotonic ns.
    pub end_ns: u64,
    /// What was recorded.
    pub holder: Holder,
}

impl Recording {
    /// Whether waiters asked what the owners of locks did: the log's metadata say so. In
    /// trace mode, they do not.
    pub fn has_holders(&self) -> bool {
        self.facts.metadata("holders") == Some("true")
    }
}
