//! The longest of many, as many as there is room for.

/// Lengths are told apart by a quarter of a power of two.
const CLASSES: usize = 256;

/// The longest entries. Which are kept depends on all that were put in, not on
/// their order: all of at least a length, which is as short as possible.
#[derive(Clone, Debug)]
pub(super) struct Longest<T> {
    list: Vec<(usize, T)>,
    most: usize,
    /// Only entries of this class of lengths or a longer one.
    least: usize,
}

impl<T> Longest<T> {
    /// With room for so many.
    pub(super) fn new(most: usize) -> Longest<T> {
        Longest { list: Vec::new(), most, least: 0 }
    }

    /// Puts an entry in, of a length in ns.
    pub(super) fn push(&mut self, length_ns: u64, entry: T) {
        if self.keeps(length_ns) {
            self.list.push((class(length_ns), entry));
            self.shorten();
        }
    }

    /// Adds others, of the same room.
    pub(super) fn add(&mut self, others: Longest<T>) {
        self.least = self.least.max(others.least);
        self.list.extend(others.list);
        self.list.retain(|(class, _)| *class >= self.least);
        self.shorten();
    }

    /// Whether an entry of this length is kept, if it was put in.
    pub(super) fn keeps(&self, length_ns: u64) -> bool {
        class(length_ns) >= self.least
    }

    /// Those that are kept, in no order.
    pub(super) fn into_entries(self) -> impl Iterator<Item = T> {
        self.list.into_iter().map(|(_, entry)| entry)
    }

    /// Lets the shortest go until there is room.
    fn shorten(&mut self) {
        if self.list.len() <= self.most {
            return;
        }
        let mut counts = [0usize; CLASSES];
        self.list.iter().for_each(|(class, _)| counts[*class] += 1);
        let mut kept = 0;
        // From the longest down to the last class for which there is room.
        let classes = (0..CLASSES).rev().take_while(|&class| {
            kept += counts[class];
            kept <= self.most
        });
        self.least = CLASSES - classes.count();
        self.list.retain(|(class, _)| *class >= self.least);
    }
}

/// The class of a length.
fn class(length_ns: u64) -> usize {
    match length_ns {
        0..4 => length_ns as usize,
        _ => {
            let power = length_ns.ilog2();
            4 * power as usize + (length_ns >> (power - 2) & 3) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn classes_grow_with_the_lengths() {
        let classes = [0, 3, 4, 5, 8, 9, 10, 1 << 40, u64::MAX].map(class);
        assert!(classes.is_sorted() && classes[8] == CLASSES - 1, "{classes:?}");
    }

    #[test]
    fn the_shortest_go_first() {
        let mut longest = Longest::new(2);
        for length in [1_000, 10, 100_000, 100] {
            longest.push(length, length);
        }
        assert!(longest.keeps(1_000) && !longest.keeps(100));
        let mut kept: Vec<u64> = longest.clone().into_entries().collect();
        kept.sort_unstable();
        assert_eq!(kept, [1_000, 100_000]);
        // All of a class go together.
        longest.push(1_001, 1_001);
        assert_eq!(longest.clone().into_entries().collect::<Vec<_>>(), [100_000]);
        let mut none = Longest::new(1);
        [7, 7].iter().for_each(|&length| none.push(length, length));
        assert!(!none.keeps(7) && none.into_entries().next().is_none());
    }

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(
            lengths in vec(0..1u64 << 20, 0..80), cut in 0..80usize, most in 1..40usize,
        ) {
            let put = |lengths: &[u64]| {
                let mut longest = Longest::new(most);
                lengths.iter().for_each(|&length| longest.push(length, length));
                longest
            };
            let (first, second) = lengths.split_at(cut.min(lengths.len()));
            let mut merged = put(second);
            merged.add(put(first));
            let whole = put(&lengths);
            prop_assert_eq!(whole.least, merged.least);
            let sorted = |longest: Longest<u64>| {
                let mut list: Vec<u64> = longest.into_entries().collect();
                list.sort_unstable();
                list
            };
            let kept: Vec<u64> = lengths.iter().copied().filter(|&it| whole.keeps(it)).collect();
            prop_assert!(kept.len() <= most);
            let (whole, merged) = (sorted(whole), sorted(merged));
            prop_assert_eq!(&whole, &merged);
            prop_assert_eq!(whole.len(), kept.len());
        }
    }
}
