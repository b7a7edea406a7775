//! How many waits ended when, by how long they had taken.

use super::super::axis::Grid;

/// Powers of two that are told apart.
const POWERS: usize = 32;
/// The first of them: what is shorter than 1 µs is all the same.
const FIRST: u32 = 9;

/// Waits by box, row and power of two of their duration. What belongs to a box lies side
/// by side, since a worker is in one for long.
pub(in super::super) struct Heat {
    rows: usize,
    counts: Vec<u32>,
}

impl Heat {
    pub(super) fn new(boxes: &Grid, rows: usize) -> Heat {
        Heat { rows, counts: vec![0; boxes.len() * rows * POWERS] }
    }

    /// Counts waits of a row that ended in a box.
    #[inline(always)]
    pub(super) fn count(&mut self, in_box: usize, row: u8, wait_ns: u64, waits: u32) {
        let power = (wait_ns | 1).ilog2().saturating_sub(FIRST) as usize;
        let at = (in_box * self.rows + usize::from(row)) * POWERS + power.min(POWERS - 1);
        if let Some(count) = self.counts.get_mut(at) {
            *count = count.saturating_add(waits);
        }
    }

    pub(super) fn add(&mut self, other: &Heat) {
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*more);
        }
    }

    /// What was counted for a row: box, the shortest duration of the power of two, and waits.
    pub(in super::super) fn of(&self, row: usize) -> Vec<(usize, u64, u32)> {
        let boxes = self.counts.chunks(self.rows * POWERS).enumerate();
        let of_box = |(in_box, counts): (usize, &[u32])| {
            let own = counts.get(row * POWERS..(row + 1) * POWERS).unwrap_or_default();
            let known = own.iter().zip(FIRST..).filter(|(waits, _)| **waits != 0);
            let place = |(waits, power): (&u32, u32)| (in_box, 1u64 << power, *waits);
            known.map(place).collect::<Vec<_>>()
        };
        boxes.flat_map(of_box).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_counted_where_they_ended() {
        let grid = Grid { step_ns: 10, end_ns: 30 };
        let mut heat = Heat::new(&grid, 2);
        heat.count(0, 1, 0, 1);
        heat.count(2, 1, 1_024, 2);
        heat.count(2, 1, 2_047, 1);
        heat.count(2, 0, u64::MAX, 1);
        heat.count(3, 0, 5, 1);
        let mut twice = Heat::new(&grid, 2);
        twice.add(&heat);
        twice.add(&heat);
        assert_eq!(twice.of(1), [(0, 512, 2), (2, 1_024, 6)]);
        assert_eq!(twice.of(0), [(2, 1 << 40, 2)], "no box is outside");
    }
}
