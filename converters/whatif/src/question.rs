//! The questions that can be asked.

use crate::change::Change;
use regex::Regex;

/// A question about the locks of a group, as [`GroupOf`](crate::GroupOf) defines groups.
#[derive(Clone, Debug)]
pub struct Question {
    /// The group.
    pub group: u32,
    /// One of its locks, by its id in the log; `None` for all of them.
    pub lock: Option<u32>,
    /// The change of these locks.
    pub change: Change,
    /// The number of processors, if not the recorded one.
    pub processors: Option<u32>,
    /// For a read-write lock, matches the places that only read. `None`: they are recognised
    /// by the names of methods.
    pub reads: Option<Regex>,
    /// Whether the gain is asked for single locks, too, each of which takes a replay.
    pub one_by_one: bool,
}

impl Question {
    /// About all locks of a group together, on the processors of the recording.
    pub fn about(group: u32, change: Change) -> Question {
        Question { group, lock: None, change, processors: None, reads: None, one_by_one: false }
    }
}
