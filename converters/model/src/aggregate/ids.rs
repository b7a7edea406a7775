//! What became of a log's ids in the profile.

use std::collections::HashMap;
use tyrion_wire::{
    WaitKind,
    def::id::{self, EMPTY_STACK},
};

/// Stack, lock and kind: what tells a thread's waits apart in a profile.
pub(super) type WaitKey = (u32, u32, WaitKind);

/// What became of the ids of one log in the profile, for who reads the log once
/// more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogIds {
    /// The log's threads that are in the profile, ascending, and what they are
    /// there.
    pub(super) threads: Vec<(u32, u32)>,
    pub(super) wait_keys: Vec<WaitKey>,
    /// The number of its key for each site; beyond the keys for sites that
    /// have none.
    pub(super) key_of_site: Vec<u32>,
    /// The profile's id of each stack of the log that the profile has.
    pub(super) stacks: Vec<Option<u32>>,
    /// That of stacks whose definition is lost.
    pub(super) lost_stack: Option<u32>,
    /// The profile's id of each lock of the log that is told apart there.
    pub(super) locks: HashMap<u32, u32>,
}

impl LogIds {
    /// The profile's id of a thread; `None` when the profile lacks it, since
    /// it did nothing that the filter lets through.
    pub fn thread(&self, thread: u32) -> Option<u32> {
        let at = self.threads.binary_search_by_key(&thread, |(thread, _)| *thread).ok()?;
        self.threads.get(at).map(|(_, id)| *id)
    }

    /// Stack, lock and kind of a site's waits, by their ids in the profile;
    /// `None` for a site that the filter leaves out, that nobody used, or whose
    /// definition is lost.
    pub fn site(&self, site: u32) -> Option<(u32, u32, WaitKind)> {
        let key = *self.key_of_site.get(site as usize)?;
        self.wait_keys.get(key as usize).copied()
    }

    /// The profile's id of a lock that a sampled thread waits for; `None` when
    /// the profile lacks it, or none is known.
    pub fn lock(&self, lock: u32) -> Option<u32> {
        self.locks.get(&lock).copied().filter(|_| lock != id::UNKNOWN)
    }

    /// The profile's id of a stack of the log; `None` when the profile lacks it.
    pub fn stack(&self, stack: u32) -> Option<u32> {
        match self.stacks.get(stack as usize) {
            _ if stack == EMPTY_STACK => Some(0),
            Some(known) => *known,
            None => self.lost_stack,
        }
    }
}
