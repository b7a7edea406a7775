//! When nothing is recorded: without that the log could not tell what its sums
//! are to be divided by.

use super::Recorder;
use crate::{clock, sync::lock, volume::Volume};

/// A pause that has not ended.
pub(super) struct Paused {
    /// Since when, monotonic ns.
    from_ns: u64,
    /// The number of the last volume that tells of it.
    told_in: u32,
}

impl Recorder {
    /// Recording is off from now on.
    pub fn pauses(&self) {
        let mut pause = lock(&self.pause);
        if pause.is_none() {
            let (from_ns, volume) = (clock::now_ns(), self.log.current());
            let _ = volume.dictionary.pause(&volume.log, from_ns, 0);
            *pause = Some(Paused { from_ns, told_in: volume.number });
        }
    }

    /// Recording is on from now on.
    pub fn goes_on(&self) {
        if let Some(paused) = lock(&self.pause).take() {
            let volume = self.log.current();
            let _ = volume.dictionary.pause(&volume.log, paused.from_ns, clock::now_ns());
        }
    }

    /// Has a file that begins during a pause tell of it, too.
    pub(super) fn repeat_pause(&self, volume: &Volume) {
        if let Some(paused) = lock(&self.pause).as_mut()
            && paused.told_in != volume.number
        {
            let _ = volume.dictionary.pause(&volume.log, paused.from_ns, 0);
            paused.told_in = volume.number;
        }
    }
}
