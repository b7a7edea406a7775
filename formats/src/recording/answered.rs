//! What owners of locks did while others waited.

use super::Recording;
use tyrion_wire::holder::Holder;

/// What was seen of the owner of a lock during a wait. Ids in it are those of definitions
/// that may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Who waited, by its id in the log.
    pub thread: u32,
    /// When, monotonic ns.
    pub at_ns: u64,
    /// What was recorded.
    pub holder: Holder,
}

impl Recording {
    /// Whether the agent looked what the owners of locks did: the log's metadata say so. In
    /// trace mode, it does not.
    pub fn has_holders(&self) -> bool {
        self.facts.metadata("holders") == Some("true")
    }
}
