//! What is recorded, where that changes: without it the log could not tell which time
//! its figures are of.

use super::Recorder;
use crate::{clock, log::Generation, sync::lock};

/// What has been recorded since a change.
pub(super) struct Changed {
    /// Since when, monotonic ns.
    from_ns: u64,
    /// Bits of [`tyrion_wire::def::mode`].
    recorded: u64,
    /// The number of the last generation that tells of it.
    defined_in: u32,
}

impl Recorder {
    /// Something else is recorded from now on, in bits of [`tyrion_wire::def::mode`].
    pub fn records(&self, recorded: u64) {
        let mut changed = lock(&self.changed);
        let (from_ns, generation) = (clock::now_ns(), self.log.current());
        let _ = generation.dictionary.mode(&generation.log, from_ns, recorded);
        *changed = Some(Changed { from_ns, recorded, defined_in: generation.number });
    }

    /// Has a file that begins after a change tell of it, too.
    pub(super) fn repeat_mode(&self, generation: &Generation) {
        if let Some(changed) = lock(&self.changed).as_mut()
            && changed.defined_in != generation.number
        {
            let (from_ns, recorded) = (changed.from_ns, changed.recorded);
            let _ = generation.dictionary.mode(&generation.log, from_ns, recorded);
            changed.defined_in = generation.number;
        }
    }
}
