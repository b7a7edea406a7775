//! A lock in a replay: its owners and its waiters.

use crate::locks::Sharing;
use std::collections::VecDeque;

/// No script.
pub(super) const NOBODY: u32 = u32::MAX;

/// The current state of a lock.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    sharing: Sharing,
    is_fair: bool,
    owner: u32,
    /// The number of readers that share it.
    sharers: u32,
    waiters: VecDeque<(u32, bool)>,
    /// The first of the waiters has been woken, and has not tried yet.
    pub(super) is_waking: bool,
    /// Which of the recorded handovers comes next.
    pub(super) handover: usize,
}

impl Queue {
    pub(super) fn new(sharing: Sharing, is_fair: bool) -> Queue {
        Queue {
            sharing,
            is_fair,
            owner: NOBODY,
            sharers: 0,
            waiters: VecDeque::new(),
            is_waking: false,
            handover: 0,
        }
    }

    /// The script that holds it exclusively.
    pub(super) fn owner(&self) -> u32 {
        self.owner
    }

    /// Whether there is room for one more thread.
    fn has_room(&self, is_shared: bool) -> bool {
        match self.sharing {
            Sharing::Exclusive | Sharing::Untraced => self.owner == NOBODY,
            Sharing::ReadWrite if is_shared => self.owner == NOBODY,
            Sharing::ReadWrite => self.owner == NOBODY && self.sharers == 0,
            Sharing::Permits(most) => self.sharers < most,
        }
    }

    /// Whether a thread that arrives now has to wait behind others: with a fair lock
    /// always, otherwise only readers behind a writer.
    fn has_to_queue(&self, is_shared: bool) -> bool {
        let Some(&(_, first_is_shared)) = self.waiters.front() else { return false };
        let is_reader = is_shared && self.sharing == Sharing::ReadWrite;
        self.is_fair || (is_reader && !first_is_shared)
    }

    /// Takes it for a thread, if it is free. `is_first`: the thread is already the first
    /// waiter.
    pub(super) fn take(&mut self, thread: u32, is_shared: bool, is_first: bool) -> bool {
        if !self.has_room(is_shared) || (!is_first && self.has_to_queue(is_shared)) {
            return false;
        }
        match self.sharing {
            Sharing::Permits(_) => self.sharers += 1,
            Sharing::ReadWrite if is_shared => self.sharers += 1,
            _ => self.owner = thread,
        }
        if is_first {
            self.waiters.pop_front();
        }
        true
    }

    /// Adds a thread to the end of the queue.
    pub(super) fn wait(&mut self, thread: u32, is_shared: bool) {
        self.waiters.push_back((thread, is_shared));
    }

    /// Whether a thread is the first waiter.
    pub(super) fn is_first(&self, thread: u32) -> bool {
        self.waiters.front().is_some_and(|waiter| waiter.0 == thread)
    }

    /// Removes a thread from the queue.
    pub(super) fn leave(&mut self, thread: u32) {
        self.is_waking &= !self.is_first(thread);
        self.waiters.retain(|waiter| waiter.0 != thread);
    }

    /// Releases it for a thread that has it.
    pub(super) fn release(&mut self, thread: u32) {
        if self.owner == thread {
            self.owner = NOBODY;
        } else {
            self.sharers = self.sharers.saturating_sub(1);
        }
    }

    /// The waiter that is to be woken now, if any.
    pub(super) fn next_to_wake(&mut self) -> Option<u32> {
        let &(first, is_shared) = self.waiters.front()?;
        if self.is_waking || !self.has_room(is_shared) {
            return None;
        }
        self.is_waking = true;
        Some(first)
    }
}
