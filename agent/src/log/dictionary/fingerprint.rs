//! Stacks are known again by their fingerprints.

use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;

/// Two independent 64-bit hashes of a stack. With a million stacks the odds
/// that any two have the same are 1 in 10^26.
pub type Fingerprint = (u64, u64);

/// The fingerprint of a stack of methods and bytecode offsets.
#[inline]
pub fn fingerprint(frames: &[jvmtiFrameInfo]) -> Fingerprint {
    let (mut a, mut b) = (0x243f_6a88_85a3_08d3u64, 0x1319_8a2e_0370_7344u64);
    for frame in frames {
        let (method, location) = (frame.method as u64, frame.location as u64);
        a = fold(a ^ method, 0x9e37_79b9_7f4a_7c15 ^ location);
        b = fold(b ^ location ^ 0xa409_3822_299f_31d0, 0xd1b5_4a32_d192_ed03 ^ method);
    }
    (a, b)
}

/// The fingerprint of a stack of which more follows than is kept (`cut`), or
/// whose innermost frame waits for a monitor: the same frames mean another
/// stack then.
pub fn marked(print: Fingerprint, (cut, at_monitor): (bool, bool)) -> Fingerprint {
    match u64::from(cut) | u64::from(at_monitor) << 1 {
        0 => print,
        mark => (
            fold(print.0 ^ mark, 0xd6e8_feb8_6659_fd93),
            fold(print.1 ^ mark, 0xa076_1d64_78bd_642f),
        ),
    }
}

/// Both halves of the product, folded into one.
pub(super) fn fold(x: u64, y: u64) -> u64 {
    let wide = u128::from(x) * u128::from(y | 1);
    (wide as u64 ^ (wide >> 64) as u64).rotate_left(23) ^ x
}
