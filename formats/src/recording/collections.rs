//! When the JVM's garbage collector had all threads stopped.

use super::{Collection, Recording};

/// The key in the metadata that says whether they are recorded, and the statistic
/// that says how many are missing.
const KEY: &str = "collections";
const LOST: &str = "collections.lost";

impl Recording {
    /// The pauses of the garbage collector that ended during the log, in the order of
    /// time. What is damaged may have some that overlap; the agent writes none.
    pub fn collections(&self) -> Vec<Collection> {
        let mut collections = self.definitions.collections().to_vec();
        collections.sort_unstable_by_key(|it| (it.start_ns, it.end_ns));
        collections
    }

    /// Whether the log has them: `false` if the JVM did not report any, and `None` if
    /// the log does not say, as those of earlier agents.
    pub fn has_collections(&self) -> Option<bool> {
        match self.facts.metadata(KEY)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// How many the log lacks, since its recording began: there was no room.
    pub fn lost_collections(&self) -> u64 {
        self.statistics().get(LOST).copied().unwrap_or(0)
    }
}
