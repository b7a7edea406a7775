//! When nothing is recorded: without that the log could not tell what its sums
//! are to be divided by.

use super::Recorder;
use crate::{clock, log::Generation, sync::lock};
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::header::field::MONO_NS;

/// A pause that has not ended.
pub(super) struct Paused {
    /// Since when, monotonic ns.
    from_ns: u64,
    /// The number of the last generation that tells of it.
    defined_in: u32,
}

impl Recorder {
    /// Recording is off from now on.
    pub fn pauses(&self) {
        let mut pause = lock(&self.pause);
        if pause.is_none() {
            let (from_ns, generation) = (clock::now_ns(), self.log.current());
            self.note_collections_in(&generation);
            let _ = generation.dictionary.pause(&generation.log, from_ns, 0);
            *pause = Some(Paused { from_ns, defined_in: generation.number });
            self.cost_ends();
        }
    }

    /// Recording is off since the log began, although it was asked for: what it needs is
    /// not in place yet.
    pub fn begins_later(&self) {
        let mut pause = lock(&self.pause);
        if pause.is_none() {
            let generation = self.log.current();
            let from_ns = generation.log.header().u64_at(MONO_NS).load(Relaxed);
            let _ = generation.dictionary.pause(&generation.log, from_ns, 0);
            *pause = Some(Paused { from_ns, defined_in: generation.number });
        }
    }

    /// Recording is on from now on.
    pub fn goes_on(&self) {
        if let Some(paused) = lock(&self.pause).take() {
            let generation = self.log.current();
            let _ = generation.dictionary.pause(&generation.log, paused.from_ns, clock::now_ns());
        }
        self.cost_begins();
    }

    /// Has a file that begins during a pause tell of it, too.
    pub(super) fn repeat_pause(&self, generation: &Generation) {
        if let Some(paused) = lock(&self.pause).as_mut()
            && paused.defined_in != generation.number
        {
            let _ = generation.dictionary.pause(&generation.log, paused.from_ns, 0);
            paused.defined_in = generation.number;
        }
    }
}
