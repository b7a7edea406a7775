//! How well it is known by now how long locks are held.

use super::{Trace, cells::Cells};
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::cell::BUCKETS;

/// What was counted of a place.
pub struct MeasuredPlace {
    /// Its number.
    pub place: u32,
    /// The measured holds by the bucket of their duration.
    pub histogram: [u64; BUCKETS],
}

impl Trace {
    /// What was counted so far, in this file of the log; a place stands there once for each
    /// thread.
    pub fn measured(&self) -> Vec<MeasuredPlace> {
        self.cells.measured()
    }
}

impl Cells {
    fn measured(&self) -> Vec<MeasuredPlace> {
        self.map_all(|cell| MeasuredPlace {
            place: cell.place.load(Relaxed),
            histogram: cell.histogram.each_ref().map(|count| count.load(Relaxed).into()),
        })
    }
}
