//! What can be asked.

use crate::change::Change;
use regex::Regex;

/// A question about the locks of a group, as [`GroupOf`](crate::GroupOf) tells groups.
#[derive(Clone, Debug)]
pub struct Question {
    /// The group.
    pub group: u32,
    /// One of its locks, by its id in the log; `None` for all of them.
    pub lock: Option<u32>,
    /// What is done about them.
    pub change: Change,
    /// On how many processors, if not on as many as were recorded.
    pub processors: Option<u32>,
    /// Finds something in the places that only read, of a read-write lock. `None`: the
    /// names of methods tell.
    pub reads: Option<Regex>,
}
