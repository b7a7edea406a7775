//! What the threads' time went into, over the run.

use super::super::{
    axis::{Axis, Grid, Series},
    ranks::BANDS,
};

/// What the time of threads went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Use {
    /// Anything.
    Lived,
    /// Waiting for something to happen.
    Idle,
    /// Of that, being kept from work.
    Withheld,
    /// Waiting for a lock of this band.
    Contended(u8),
}

impl Use {
    const LEN: usize = 3 + BANDS;

    fn at(self) -> usize {
        match self {
            Use::Lived => 0,
            Use::Idle => 1,
            Use::Withheld => 2,
            Use::Contended(band) => 3 + usize::from(band).min(BANDS - 1),
        }
    }
}

/// Sums of it by phase, and by box of the timelines.
pub(in super::super) struct TimeUse {
    phases: Grid,
    boxes: Grid,
    by_phase: [Series; Use::LEN],
    by_box: [Series; Use::LEN],
}

impl TimeUse {
    pub(super) fn new(axis: &Axis) -> TimeUse {
        let (phases, boxes) = (axis.phases(), axis.boxes());
        let of = |grid: &Grid| std::array::from_fn(|_| Series::new(grid));
        TimeUse { by_phase: of(&phases), by_box: of(&boxes), phases, boxes }
    }

    /// Adds a span of time.
    pub(in super::super) fn add_span(&mut self, what: Use, from_ns: u64, to_ns: u64) {
        self.by_phase[what.at()].add_span(&self.phases, from_ns, to_ns);
        self.by_box[what.at()].add_span(&self.boxes, from_ns, to_ns);
    }

    /// Adds an amount that is spread evenly over a span of time.
    pub(super) fn add_spread(&mut self, what: Use, span: (i128, i128), ns: u64) {
        self.by_phase[what.at()].add_spread(&self.phases, span, ns);
        self.by_box[what.at()].add_spread(&self.boxes, span, ns);
    }

    /// Adds an amount to a phase and a box.
    pub(super) fn add_to(&mut self, what: Use, (phase, in_box): (usize, usize), ns: u64) {
        if ns != 0 {
            self.by_phase[what.at()].add_to(phase, ns);
            self.by_box[what.at()].add_to(in_box, ns);
        }
    }

    pub(super) fn add(&mut self, other: &TimeUse) {
        self.by_phase.iter_mut().zip(&other.by_phase).for_each(|(sum, more)| sum.add(more));
        self.by_box.iter_mut().zip(&other.by_box).for_each(|(sum, more)| sum.add(more));
    }

    /// The sums by phase, in ns.
    pub(in super::super) fn of_phases(&self, what: Use) -> Vec<u64> {
        self.by_phase[what.at()].sums(&self.phases)
    }

    /// The sums by box, in ns.
    pub(in super::super) fn of_boxes(&self, what: Use) -> Vec<u64> {
        self.by_box[what.at()].sums(&self.boxes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_boxes_have_the_same_sums() {
        let axis = Axis { duration_ns: 1_200, phase_ns: 1_000, box_ns: 10, ..Axis::default() };
        let mut used = TimeUse::new(&axis);
        used.add_span(Use::Lived, 5, 1_100);
        used.add_to(Use::Contended(2), (1, 119), 7);
        used.add_spread(Use::Idle, (0, 1_200), 120);
        let mut twice = TimeUse::new(&axis);
        twice.add(&used);
        twice.add(&used);
        assert_eq!(twice.of_phases(Use::Lived), [1_990, 200]);
        assert_eq!(twice.of_boxes(Use::Lived).iter().sum::<u64>(), 2_190);
        assert_eq!(twice.of_phases(Use::Contended(2)), [0, 14]);
        assert_eq!(twice.of_boxes(Use::Contended(2))[119], 14);
        assert_eq!(twice.of_boxes(Use::Contended(1)).iter().sum::<u64>(), 0);
        assert_eq!(twice.of_phases(Use::Idle).iter().sum::<u64>(), 240);
    }
}
