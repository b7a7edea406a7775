//! How many waits at a place took about how long.

use crate::hash::Table;

/// So many places have their counts at hand, which take 2 KiB for each; those of others, which
/// only made-up logs have, are looked up.
const NEAR: usize = 1 << 12;

/// The counts, by place and [`length`].
#[derive(Debug, Default)]
pub(super) struct Lengths {
    /// By place; none of those at which nothing was counted.
    near: Vec<Option<Box<[u64; 256]>>>,
    others: Table<(u32, u8), u64>,
}

impl Lengths {
    /// Counts a wait.
    #[inline]
    pub(super) fn count(&mut self, place: u32, wait_ns: u64) {
        let length = length(wait_ns);
        match self.near.get_mut(place as usize) {
            Some(Some(counts)) => counts[usize::from(length)] += 1,
            _ => self.add(place, length, 1),
        }
    }

    #[inline(never)]
    fn add(&mut self, place: u32, length: u8, more: u64) {
        let at = place as usize;
        let sum = if at < NEAR {
            self.near.resize_with(self.near.len().max(at + 1), || None);
            let counts = self.near[at].get_or_insert_with(|| Box::new([0; 256]));
            &mut counts[usize::from(length)]
        } else {
            self.others.entry((place, length)).or_default()
        };
        *sum = sum.saturating_add(more);
    }

    pub(super) fn merge(&mut self, other: Lengths) {
        other.into_counts().for_each(|((place, length), count)| self.add(place, length, count));
    }

    /// The counts that are not 0, in no order.
    pub(super) fn into_counts(self) -> impl Iterator<Item = ((u32, u8), u64)> {
        let near = (0u32..).zip(self.near).filter_map(|(place, counts)| Some((place, counts?)));
        let near = near.flat_map(|(place, counts)| {
            (0..=u8::MAX).map(move |length| ((place, length), counts[usize::from(length)]))
        });
        near.filter(|(_, count)| *count != 0).chain(self.others)
    }
}

/// About how long a wait took: a number for each quarter of a power of two.
fn length(wait_ns: u64) -> u8 {
    match wait_ns {
        0..4 => wait_ns as u8,
        _ => {
            let power = wait_ns.ilog2();
            (4 * power + (wait_ns >> (power - 2) & 3) as u32) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_with_the_waits() {
        let numbers: Vec<u8> = [0, 1, 3, 4, 5, 7, 8, 9, 10, 1 << 20, u64::MAX].map(length).into();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(length(1 << 20) + 1, length((1 << 20) + (1 << 18)));
        assert_eq!(length(1 << 20) + 4, length(1 << 21));
        assert_eq!(length(u64::MAX), 255);
    }

    #[test]
    fn places_are_counted_apart_however_many_there_are() {
        let counted = || {
            let mut lengths = Lengths::default();
            [0, 7, NEAR as u32, u32::MAX].iter().for_each(|&place| lengths.count(place, 3));
            lengths
        };
        let mut lengths = counted();
        lengths.merge(counted());
        let mut counts: Vec<((u32, u8), u64)> = lengths.into_counts().collect();
        counts.sort_unstable();
        let expected = [0, 7, NEAR as u32, u32::MAX].map(|place| ((place, 3), 2));
        assert_eq!(counts, expected);
    }
}
