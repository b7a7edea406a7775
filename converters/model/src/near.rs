//! Sums that were added to lately, at hand without a look-up in a table.
//!
//! What comes one after the other in a chunk is much alike, so most of it adds to few sums,
//! while a table of all sums may be larger than the processor's caches. Each key has one slot
//! here; whichever other key has it has to go, to wherever all sums are. Nothing needs to be
//! checked of a key before: there are few slots, so made-up keys take no memory here.

use std::hash::{Hash, Hasher};

/// The number of slots, as a power of two.
const BITS: u32 = 12;

/// Sums by key.
#[derive(Clone, Debug)]
pub struct Near<K, V> {
    /// Empty until the first sum.
    slots: Vec<Option<(K, V)>>,
}

impl<K, V> Default for Near<K, V> {
    fn default() -> Self {
        Near { slots: Vec::new() }
    }
}

impl<K: Hash + Eq + Copy, V: Default + Clone> Near<K, V> {
    /// Changes the sum of a key, or a new one. Returns the sum that has to go for it.
    #[inline]
    pub fn change(&mut self, key: K, change: impl FnOnce(&mut V)) -> Option<(K, V)> {
        if self.slots.is_empty() {
            self.slots.resize(1 << BITS, None);
        }
        let mut hash = Mix::default();
        key.hash(&mut hash);
        let slot = self.slots.get_mut((hash.finish() >> (u64::BITS - BITS)) as usize)?;
        match slot {
            Some((known, sum)) if *known == key => {
                change(sum);
                None
            }
            _ => {
                let mut sum = V::default();
                change(&mut sum);
                slot.replace((key, sum))
            }
        }
    }

    /// All sums that are here, in no order; none are left.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, V)> + use<K, V> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}

/// Mixes a few small numbers, as fast as can be: this is done for each wait. Whoever makes up a
/// log may choose ids that collide in [`Near`], where it costs time alone; in a table, only
/// numbers that nobody can choose may be mixed like this, such as the reader's own.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(23) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn no_sum_is_lost(keys in proptest::collection::vec((0u32..90, 0u32..90), 0..9_000)) {
            let (mut near, mut all) = (Near::default(), HashMap::new());
            let mut put = |(key, sum): ((u32, u32), u64)| *all.entry(key).or_insert(0) += sum;
            let mut expected: HashMap<(u32, u32), u64> = HashMap::new();
            for key in keys {
                *expected.entry(key).or_default() += 1;
                near.change(key, |sum| *sum += 1).into_iter().for_each(&mut put);
            }
            near.drain().for_each(&mut put);
            prop_assert_eq!(all, expected);
            prop_assert_eq!(near.drain().count(), 0);
        }
    }
}
