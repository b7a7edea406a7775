//! The longest of many, as many as there is room for.

/// Lengths are told apart by a quarter of a power of two.
const CLASSES: usize = 256;

/// The longest entries. Which are kept depends on all that were put in, not on
/// their order: all of at least a length, which is as short as possible.
#[derive(Clone, Debug)]
pub(super) struct Longest<T> {
    list: Vec<(u16, T)>,
    most: usize,
    /// Only entries of this class of lengths or a longer one.
    least: u16,
}

impl<T> Longest<T> {
    /// With room for so many.
    pub(super) fn new(most: usize) -> Longest<T> {
        Longest { list: Vec::new(), most, least: 0 }
    }

    /// For how many there is room.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether there may be room for an entry of a length in ns.
    #[inline]
    pub(super) fn takes(&self, length_ns: u64) -> bool {
        class(length_ns) >= self.least
    }

    /// Puts an entry in, of a length in ns. Hands over those for which there is no
    /// room, this one or others.
    #[inline]
    pub(super) fn push(&mut self, length_ns: u64, entry: T, shed: impl FnMut(T)) {
        self.put(class(length_ns), entry, shed);
    }

    #[inline]
    fn put(&mut self, class: u16, entry: T, mut shed: impl FnMut(T)) {
        if class < self.least {
            return shed(entry);
        }
        if self.list.len() == self.most {
            // One more, and no room for the next ones.
            self.list.reserve_exact(1);
        }
        self.list.push((class, entry));
        if self.list.len() > self.most {
            self.shorten(shed);
        }
    }

    /// Adds others, of the same room.
    pub(super) fn add(&mut self, others: Longest<T>, mut shed: impl FnMut(T)) {
        if others.least > self.least {
            self.least = others.least;
            self.drop_short(&mut shed);
        }
        for (class, entry) in others.list {
            self.put(class, entry, &mut shed);
        }
    }

    /// Those that are kept, in no order.
    pub(super) fn into_entries(self) -> impl Iterator<Item = T> {
        self.list.into_iter().map(|(_, entry)| entry)
    }

    /// Lets the shortest go until there is room. This is rare: each time there is one
    /// class less.
    #[cold]
    fn shorten(&mut self, mut shed: impl FnMut(T)) {
        let mut counts = [0usize; CLASSES];
        self.list.iter().for_each(|(class, _)| counts[usize::from(*class)] += 1);
        let mut kept = 0;
        // From the longest down to the last class for which there is room.
        let classes = (0..CLASSES).rev().take_while(|&class| {
            kept += counts[class];
            kept <= self.most
        });
        self.least = (CLASSES - classes.count()) as u16;
        self.drop_short(&mut shed);
    }

    fn drop_short(&mut self, shed: &mut impl FnMut(T)) {
        let mut at = 0;
        while let Some((class, _)) = self.list.get(at) {
            if *class < self.least {
                shed(self.list.swap_remove(at).1);
            } else {
                at += 1;
            }
        }
    }
}

/// The class of a length.
#[inline]
fn class(length_ns: u64) -> u16 {
    match length_ns {
        0..4 => length_ns as u16,
        _ => {
            let power = length_ns.ilog2();
            4 * power as u16 + (length_ns >> (power - 2) & 3) as u16
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
        assert!(classes.is_sorted() && usize::from(classes[8]) == CLASSES - 1, "{classes:?}");
    }

    fn sorted(mut list: Vec<u64>) -> Vec<u64> {
        list.sort_unstable();
        list
    }

    #[test]
    fn the_shortest_go_first() {
        let (mut longest, mut shed) = (Longest::new(2), Vec::new());
        for length in [1_000, 10, 100_000, 100] {
            longest.push(length, length, |it| shed.push(it));
        }
        assert_eq!(sorted(longest.clone().into_entries().collect()), [1_000, 100_000]);
        assert_eq!(shed, [10, 100]);
        // All of a class go together.
        longest.push(1_001, 1_001, |it| shed.push(it));
        assert_eq!(longest.clone().into_entries().collect::<Vec<_>>(), [100_000]);
        assert_eq!(sorted(shed), [10, 100, 1_000, 1_001]);
        let (mut none, mut shed) = (Longest::new(1), Vec::new());
        [u64::MAX; 3].iter().for_each(|&length| none.push(length, length, |it| shed.push(it)));
        assert!(none.into_entries().next().is_none() && shed.len() == 3);
    }

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(
            lengths in vec(0..1u64 << 20, 0..80), cut in 0..80usize, most in 1..40usize,
        ) {
            let put = |lengths: &[u64]| {
                let (mut longest, mut shed) = (Longest::new(most), Vec::new());
                lengths.iter().for_each(|&length| longest.push(length, length, |it| shed.push(it)));
                (longest, shed)
            };
            let (first, second) = lengths.split_at(cut.min(lengths.len()));
            let ((mut merged, mut shed), (others, more)) = (put(second), put(first));
            shed.extend(more);
            merged.add(others, |it| shed.push(it));
            let (whole, whole_shed) = put(&lengths);
            prop_assert_eq!(whole.least, merged.least);
            let is_kept = |length: &u64| class(*length) >= whole.least;
            let (kept, not): (Vec<u64>, Vec<u64>) = lengths.iter().copied().partition(is_kept);
            prop_assert!(kept.len() <= most);
            prop_assert_eq!(sorted(whole.into_entries().collect()), sorted(kept.clone()));
            prop_assert_eq!(sorted(merged.into_entries().collect()), sorted(kept));
            prop_assert_eq!(sorted(whole_shed), sorted(not.clone()));
            prop_assert_eq!(sorted(shed), sorted(not));
        }
    }
}
