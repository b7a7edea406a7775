//! A set of small numbers that is cheap to fill, to empty in order, and to
//! reuse.

/// A set of numbers below a limit. A second level of bits says which words of
/// the first hold any, so that a set of a few among millions is walked in a few
/// steps.
pub(super) struct BitSet {
    words: Vec<u64>,
    /// One bit for each of `words` that is not zero.
    summary: Vec<u64>,
    /// No word of `summary` that is not zero stands before this one …
    low: usize,
    /// … nor at or after this one.
    end: usize,
}

impl BitSet {
    /// The empty set for numbers below `limit`.
    pub(super) fn new(limit: usize) -> BitSet {
        let words = limit.div_ceil(64);
        let summary = words.div_ceil(64);
        BitSet { words: vec![0; words], summary: vec![0; summary], low: summary, end: 0 }
    }

    /// Adds a number.
    pub(super) fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] |= 1 << (number % 64);
        self.summary[word / 64] |= 1 << (word % 64);
        self.low = self.low.min(word / 64);
        self.end = self.end.max(word / 64 + 1);
    }

    /// Takes the smallest number out.
    pub(super) fn pop_first(&mut self) -> Option<u32> {
        while self.low < self.end {
            let summary = self.summary[self.low];
            if summary != 0 {
                let word = self.low * 64 + summary.trailing_zeros() as usize;
                return Some(self.take(word, self.words[word].trailing_zeros()));
            }
            self.low += 1;
        }
        self.reset();
        None
    }

    /// Takes the largest number out.
    pub(super) fn pop_last(&mut self) -> Option<u32> {
        while self.low < self.end {
            let summary = self.summary[self.end - 1];
            if summary != 0 {
                let word = (self.end - 1) * 64 + summary.ilog2() as usize;
                return Some(self.take(word, self.words[word].ilog2()));
            }
            self.end -= 1;
        }
        self.reset();
        None
    }

    fn take(&mut self, word: usize, bit: u32) -> u32 {
        self.words[word] &= !(1 << bit);
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
        (word * 64) as u32 + bit
    }

    fn reset(&mut self) {
        self.low = self.summary.len();
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Copy, Debug)]
    enum BitStep {
        Insert(u32),
        First,
        Last,
    }

    proptest! {
        #[test]
        fn is_a_set(steps in proptest::collection::vec(
            prop_oneof![
                3 => (0u32..9000).prop_map(BitStep::Insert),
                1 => Just(BitStep::First),
                1 => Just(BitStep::Last),
            ], 0..200))
        {
            let (mut bits, mut model) = (BitSet::new(9000), BTreeSet::new());
            for step in steps {
                match step {
                    BitStep::Insert(number) => {
                        bits.insert(number);
                        model.insert(number);
                    }
                    BitStep::First => prop_assert_eq!(bits.pop_first(), model.pop_first()),
                    BitStep::Last => prop_assert_eq!(bits.pop_last(), model.pop_last()),
                }
            }
            while let Some(number) = bits.pop_last() {
                prop_assert_eq!(Some(number), model.pop_last());
            }
            prop_assert!(model.is_empty());
        }
    }
}
