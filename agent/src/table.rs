//! Hash tables for small keys.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A hasher for keys that are well spread already or just small.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        // Multiplication carries low bits up; the fold brings them back.
        let wide = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }
}

/// A table with small keys.
pub type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
