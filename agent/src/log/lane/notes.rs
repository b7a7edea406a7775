//! What stands behind the record of a wait: its span, and what the lock's owner was doing.

use super::{EndedWait, Lane};
use tyrion_wire::{
    event::MAX_WAIT_LEN,
    span::{Operation, Span},
};

/// The room needed for a wait with what stands behind it. All of it is in one chunk.
pub(super) const NOTED_LEN: usize = MAX_WAIT_LEN + 64;

impl EndedWait {
    /// Whether something stands behind its record.
    #[inline]
    pub(super) fn has_notes(&self) -> bool {
        self.span.is_some() || self.group != 0
    }
}

impl Lane {
    /// Writes what else is known of a wait that has just been written.
    #[inline(never)]
    pub(super) fn append_notes(&mut self, wait: &EndedWait, wait_ns: u64) {
        let mut notes = std::mem::take(&mut self.scratch);
        notes.clear();
        if wait.span.is_some() {
            let same = wait.span.trace == self.trace;
            let trace = if same { [0; 2] } else { wait.span.trace };
            Span { trace, ..wait.span }.encode(&mut notes);
        }
        if wait.group != 0 {
            let EndedWait { group: stack, site, .. } = *wait;
            Operation { stack, site, wait_ns }.encode(&mut notes);
        }
        if self.events.as_mut().is_some_and(|chunk| chunk.append(&notes)) && wait.span.is_some() {
            self.trace = wait.span.trace;
        }
        self.scratch = notes;
    }

    /// A span was written that names its trace.
    pub fn forget_trace(&mut self) {
        self.trace = [0; 2];
    }
}
