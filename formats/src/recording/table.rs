//! Tables of what ids stand for.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

/// Rows with dense ids. Ids that were never defined have none.
#[derive(Debug)]
pub struct DenseTable<T> {
    rows: Vec<Option<T>>,
}

impl<T> Default for DenseTable<T> {
    fn default() -> Self {
        DenseTable { rows: Vec::new() }
    }
}

impl<T> DenseTable<T> {
    /// The row with this id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        self.rows.get(id as usize)?.as_ref()
    }

    /// One more than the greatest id.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows with their ids, in the order of the ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().enumerate().filter_map(|(id, row)| Some((id as u32, row.as_ref()?)))
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.rows.get_mut(id as usize)?.as_mut()
    }

    /// Puts a row; `None` when too many ids are missing before it.
    pub(crate) fn put(&mut self, id: u32, row: T, missing: &mut usize) -> Option<()> {
        let at = id as usize;
        if at >= self.rows.len() {
            let skipped = at - self.rows.len();
            *missing = missing.checked_sub(skipped)?;
            self.rows.resize_with(at + 1, || None);
        }
        self.rows[at] = Some(row);
        Some(())
    }
}

/// Rows whose ids may be any: a file of a log that rotates has but some of the
/// recording's locks and places. Ids that are left out take no room.
#[derive(Debug)]
pub struct SparseTable<T> {
    rows: HashMap<u32, T, Seed>,
}

impl<T> Default for SparseTable<T> {
    fn default() -> Self {
        SparseTable { rows: HashMap::default() }
    }
}

impl<T> SparseTable<T> {
    /// The row with this id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        self.rows.get(&id)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows with their ids, in the order of the ids. Sorts them first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut rows: Vec<_> = self.rows.iter().map(|(&id, row)| (id, row)).collect();
        rows.sort_unstable_by_key(|(id, _)| *id);
        rows.into_iter()
    }

    pub(crate) fn put(&mut self, id: u32, row: T) {
        self.rows.insert(id, row);
    }
}

/// A quick hash for ids: records of trace mode name a place each. The seed
/// differs from run to run, so that a log cannot be made such that its ids
/// collide.
#[derive(Clone, Debug)]
struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seed {
    type Hasher = IdHash;

    #[inline]
    fn build_hasher(&self) -> IdHash {
        IdHash(self.0)
    }
}

/// The hash of one id.
struct IdHash(u64);

impl Hasher for IdHash {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u32(&mut self, id: u32) {
        // Twice, for steps between ids that are powers of two.
        let once = fold(self.0 ^ u64::from(id), 0x9e37_79b9_7f4a_7c15);
        self.0 = fold(self.0.rotate_left(32) ^ once, 0xd1b5_4a32_d192_ed03);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }
}

/// Both halves of a product: the high one has met all bits.
#[inline]
fn fold(value: u64, factor: u64) -> u64 {
    let wide = u128::from(value) * u128::from(factor);
    wide as u64 ^ (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_that_are_far_apart_spread() {
        let seed = Seed::default();
        for step in [1u32, 3, 4096, 1 << 16] {
            // The low bits choose the place, the high seven tell neighbours apart.
            for (shift, mask) in [(0, 0xffff), (57, 0x7f)] {
                let spread = |nth: u32| seed.hash_one(nth.wrapping_mul(step)) >> shift & mask;
                let places: HashSet<u64> = (0..65_536).map(spread).collect();
                let most = 65_536f64.min(mask as f64);
                assert!(places.len() as f64 > 0.5 * most, "{step}: {}", places.len());
            }
        }
    }

    #[test]
    fn rows_are_told_in_the_order_of_their_ids() {
        let mut rows = SparseTable::default();
        for id in [u32::MAX, 7, 0, 700_000, 7] {
            rows.put(id, id / 2);
        }
        let ids: Vec<u32> = rows.iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [0, 7, 700_000, u32::MAX]);
        assert_eq!((rows.len(), rows.get(700_000), rows.get(8)), (4, Some(&350_000), None));
    }
}
