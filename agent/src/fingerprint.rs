//! Stacks are known again by their fingerprints.

use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};

/// Two independent 64-bit hashes of a stack. With a million stacks the odds
/// that any two have the same are 1 in 10^26.
pub type Fingerprint = (u64, u64);

/// A fingerprint on its way: of pairs of numbers, one after the other.
#[derive(Clone, Copy)]
pub struct Folded(u64, u64);

impl Folded {
    /// Of nothing.
    #[inline]
    pub fn new() -> Folded {
        Folded(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344)
    }

    /// Of what a fingerprint is of, and what is added.
    #[inline]
    pub fn from((first, second): Fingerprint) -> Folded {
        Folded(first, second)
    }

    /// Adds a pair.
    #[inline]
    pub fn add(&mut self, x: u64, y: u64) {
        self.0 = fold(self.0 ^ x, 0x9e37_79b9_7f4a_7c15 ^ y);
        self.1 = fold(self.1 ^ y ^ 0xa409_3822_299f_31d0, 0xd1b5_4a32_d192_ed03 ^ x);
    }

    /// What it is of all pairs so far.
    #[inline]
    pub fn get(self) -> Fingerprint {
        (self.0, self.1)
    }
}

/// The fingerprint of a stack of methods and bytecode offsets. `version` tells versions of a
/// method apart.
#[inline]
pub fn fingerprint(frames: &[jvmtiFrameInfo], version: impl Fn(jmethodID) -> u64) -> Fingerprint {
    let mut print = Folded::new();
    for frame in frames {
        print.add(frame.method as u64 ^ version(frame.method), frame.location as u64);
    }
    print.get()
}

/// The fingerprint of a stack that the same frames would mean another one without a mark,
/// as one that is cut, or whose innermost frame waits for a monitor.
pub fn marked(print: Fingerprint, mark: u64) -> Fingerprint {
    match mark {
        0 => print,
        mark => (
            fold(print.0 ^ mark, 0xd6e8_feb8_6659_fd93),
            fold(print.1 ^ mark, 0xa076_1d64_78bd_642f),
        ),
    }
}

/// Both halves of the product, folded into one.
pub fn fold(x: u64, y: u64) -> u64 {
    let wide = u128::from(x) * u128::from(y | 1);
    (wide as u64 ^ (wide >> 64) as u64).rotate_left(23) ^ x
}
